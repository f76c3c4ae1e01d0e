import CSpawn
import Foundation
import Glibc
import Synchronization

/// A child process of a test.
///
/// Foundation's `Process` can deadlock: it detects the end of a child with a socket, and children that are started
/// concurrently inherit this socket. This class passes only the three standard streams to its children.
public final class ChildProcess: Sendable {
    public enum Ending: Sendable, Equatable {
        case exit(Int32)
        case signal(Int32)
    }

    public let id: pid_t
    private let ending = Mutex<Ending?>(nil)

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - program: An absolute path.
    ///   - input: The file for standard input. If nil, standard input is empty.
    ///   - output: The file for standard output, created or truncated. If nil, the output is discarded.
    ///   - errors: The file for standard error, created or truncated. If nil, the child inherits standard error.
    ///   - environment: Variables that are added to the environment of this process.
    ///   - directory: The working directory. If nil, the child inherits it.
    public init(
        _ program: String, _ arguments: [String], input: String? = nil, output: String? = nil, errors: String? = nil,
        environment: [String: String] = [:], directory: String? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input ?? "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output ?? "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        if let errors {
            posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
        if let directory { posix_spawn_file_actions_addchdir_np(&actions, directory) }
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var id: pid_t = 0
        let status = withCStrings([program] + arguments) { words in
            withCStrings(ChildProcess.environment(with: environment)) { variables in
                posix_spawn(&id, program, &actions, nil, words, variables)
            }
        }
        guard status == 0 else { throw ToolFailure(description: "\(program): \(String(cString: strerror(status)))") }
        self.id = id
    }

    public var isRunning: Bool { look() == nil }

    /// Waits until the process has ended.
    @discardableResult
    public func wait() -> Ending {
        while true {
            // WNOWAIT leaves the process waitable for other threads.
            var information = siginfo_t()
            waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT)
            if let ending = look() { return ending }
        }
    }

    /// Sends a signal. Has no effect after the process has ended and an ending was returned.
    public func send(_ signal: Int32) {
        ending.withLock { if $0 == nil { kill(id, signal) } }
    }

    /// Returns how the process ended, or nil if it is still running. The kernel does not reuse the process ID before
    /// this method has returned an ending.
    private func look() -> Ending? {
        ending.withLock { ending in
            if let ending { return ending }
            var status: Int32 = 0
            guard waitpid(id, &status, WNOHANG) == id else { return nil }
            let signal = status & 0x7f
            ending = signal == 0 ? .exit(status >> 8 & 0xff) : .signal(signal)
            return ending
        }
    }

    private static func environment(with others: [String: String]) -> [String] {
        ProcessInfo.processInfo.environment.merging(others) { $1 }.map { "\($0)=\($1)" }
    }
}

private func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
    let pointers = texts.map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    return pointers.withUnsafeBufferPointer { body($0.baseAddress.unsafelyUnwrapped) }
}
