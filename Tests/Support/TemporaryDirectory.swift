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

    public func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: file(name)) }
}
