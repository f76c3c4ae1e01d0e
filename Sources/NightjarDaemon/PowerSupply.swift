import Glibc

/// The power supply of the machine, by sysfs.
enum PowerSupply {
    /// Whether the machine has mains power. Nil if it reports no mains adapter: it has no battery, or the kernel does not
    /// know.
    static var hasMainsPower: Bool? {
        guard let folder = opendir(place) else { return nil }
        defer { closedir(folder) }
        var hasAdapter = false
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !name.hasPrefix("."), text("\(place)/\(name)/type") == "Mains" else { continue }
            hasAdapter = true
            if text("\(place)/\(name)/online") == "1" { return true }
        }
        return hasAdapter ? false : nil
    }

    /// Returns the first line of a small file.
    private static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private static let place = "/sys/class/power_supply"
}
