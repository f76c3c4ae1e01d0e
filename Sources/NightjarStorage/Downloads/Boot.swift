import CPlatform

/// The boot of the system. After another boot, data that was not synced may be lost.
enum Boot {
    /// The identifier of the boot. Empty if the system does not provide it.
    static let id: String = {
        var text = [CChar](repeating: 0, count: 64)
        guard cplatform_boot_id(&text, text.count) else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }()
}
