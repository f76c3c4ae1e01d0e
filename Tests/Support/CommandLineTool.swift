import Foundation

/// What a program that a test ran has left.
public struct ToolResult: Sendable {
    public let status: Int32
    public let output: [UInt8]
    public let errors: String

    public var text: String { String(decoding: output, as: UTF8.self) }
}

public struct ToolFailure: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) { self.description = description }
}

/// Runs a program that is found on the path, and waits for its end; its output goes through files, so it cannot block.
///
/// - Parameter limit: after it the program is killed, and this throws.
public func run(
    _ program: String, _ arguments: [String], input: Bytes = "", environment: [String: String] = [:],
    directory: String? = nil, within limit: Duration = .seconds(30)
) throws -> ToolResult {
    let folder = try TemporaryDirectory()
    try folder.write("in", input)
    try folder.write("out", "")
    try folder.write("err", "")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
    process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: folder.file("in")))
    process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file("out")))
    process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file("err")))
    try process.run()
    do {
        try eventually("\(program) ended", within: limit) { !process.isRunning }
    } catch {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        throw ToolFailure(description: "\(program) \(arguments.joined(separator: " ")) did not end within \(limit)")
    }
    return ToolResult(
        status: process.terminationStatus, output: try folder.read("out"),
        errors: String(decoding: try folder.read("err"), as: UTF8.self))
}
