import Foundation

/// A temporary folder for a test. It is removed with its content when the last reference is released.
public final class TemporaryDirectory: Sendable {
    public let path: String

    public init() throws {
        let base = FileManager.default.temporaryDirectory
        path = base.appendingPathComponent("nightjar-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Returns the path of a file in the folder. The file need not exist.
    public func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file and returns its path.
    @discardableResult
    public func write(_ name: String, _ bytes: Bytes) throws -> String {
        try Data(bytes.array).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    public func read(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: file(name))))
    }

    /// Returns a copy of this process's descriptor of a file, as a child has it that was just forked. Nil if the file is
    /// not open.
    public func copyOfDescriptor(_ name: String) -> Int32? {
        var file = stat()
        guard stat(self.file(name), &file) == 0 else { return nil }
        // Tests that run concurrently use hundreds of descriptors.
        let original = (3..<Int32(clamping: sysconf(Int32(_SC_OPEN_MAX)))).first { (number: Int32) in
            var status = stat()
            return fstat(number, &status) == 0 && status.st_ino == file.st_ino && status.st_dev == file.st_dev
        }
        return original.map { dup($0) }
    }

    public func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: file(name)) }
}
