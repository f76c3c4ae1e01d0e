import CPlatform
import NightjarSystem

/// The disk of a file, by its entry in sysfs.
struct Disk {
    /// Whether the disk reads slowly because it rotates. False for virtual disks, which often report that they rotate.
    let isRotating: Bool

    /// Returns nil for a network, memory or layered file system.
    init?(of descriptor: Int32) {
        var path = [CChar](repeating: 0, count: 64)
        guard cplatform_disk_entry(descriptor, &path, path.count) else { return nil }
        let entry = Disk.string(path)
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard readlink(entry, &target, target.count - 1) > 0 else { return nil }
        let isVirtual = Disk.string(target).contains("/virtio")
        // The folder of a partition is in the folder of its disk.
        isRotating = !isVirtual && ["", "/.."].contains { Disk.startsWithOne("\(entry)\($0)/queue/rotational") }
    }

    private static func string(_ text: [CChar]) -> String {
        String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func startsWithOne(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var byte: UInt8 = 0
        return read(descriptor, &byte, 1) == 1 && byte == UInt8(ascii: "1")
    }
}
