import NightjarSystem

/// The boot of the system. After another boot, data that was not synced may be lost.
enum Boot {
    /// The identifier of the boot. Empty if the system does not provide it.
    static let id: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 64)
        let count = text.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        return String(decoding: text.prefix(max(count, 0)).prefix { $0 != 0x0A }, as: UTF8.self)
    }()
}
