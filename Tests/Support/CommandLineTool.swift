import Glibc

/// The result of a program that a test ran.
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

/// Runs a program from the PATH and waits until it ends. Output goes to files, so a full pipe cannot block the program.
///
/// - Parameter limit: The timeout. When it expires, this function kills the program and throws.
public func run(
    _ program: String, _ arguments: [String], input: Bytes = "", environment: [String: String] = [:],
    directory: String? = nil, within limit: Duration = .seconds(30)
) throws -> ToolResult {
    let folder = try TemporaryDirectory()
    try folder.write("in", input)
    let process = try ChildProcess(
        "/usr/bin/env", [program] + arguments, input: folder.file("in"), output: folder.file("out"),
        errors: folder.file("err"), environment: environment, directory: directory)
    do {
        try eventually("\(program) ended", within: limit) { !process.isRunning }
    } catch {
        process.send(SIGKILL)
        process.wait()
        throw ToolFailure(description: "\(program) \(arguments.joined(separator: " ")) did not end within \(limit)")
    }
    let status: Int32 =
        switch process.wait() {
        case .exit(let status), .signal(let status): status
        }
    return ToolResult(
        status: status, output: try folder.read("out"), errors: String(decoding: try folder.read("err"), as: UTF8.self))
}
