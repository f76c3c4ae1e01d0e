import NightjarSystem

/// The power supplies of the machine, by sysfs.
enum PowerSupply {
    /// Whether the machine has mains power. Nil if it has neither a battery nor a power adapter, or if this is not known.
    ///
    /// - Parameter folder: The folder of the power supplies.
    static func hasMainsPower(in folder: String = "/sys/class/power_supply") -> Bool? {
        guard let supplies = opendir(folder) else { return nil }
        defer { closedir(supplies) }
        var canBeOffline = false
        while let entry = readdir(supplies) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let supply = "\(folder)/\(name)"
            switch text("\(supply)/type") {
            // Notebooks are also charged by USB.
            case "Mains", "USB", "Wireless":
                if text("\(supply)/online") == "1" { return true }
                canBeOffline = true
            // The battery of a mouse has the scope Device.
            case "Battery": canBeOffline = canBeOffline || text("\(supply)/scope") != "Device"
            default: break
            }
        }
        return canBeOffline ? false : nil
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
}
