import NightjarHTTP
import NightjarSystem

/// Starts the worker of a journal: `nightjar transferd --detach`.
struct WorkerProcess {
    /// The absolute path of the program `nightjar`.
    private let executable: String

    /// - Throws: `invalid_argument` if the path is not that of an executable file.
    init(_ path: String) throws(NightjarError) {
        executable = try FilePath.absolute(path)
        var status = stat()
        guard stat(executable, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(executable, X_OK) == 0 else {
            throw NightjarError(
                .invalidArgument,
                "option \"transferd\" must be the path of the program nightjar, got \(quoted(path)), which is not an executable file"
            )
        }
    }

    /// Starts the worker in a session of its own. Waits a few milliseconds until the process that starts it has ended, so that
    /// this process gets no child.
    ///
    /// - Throws: `storage` if the program could not be started. The transfers are recorded.
    func start(journal: String) throws(NightjarError) {
        let program = Program(executable, ["transferd", "--detach", "--journal", journal])
        let child = program.start(hasOwnSession: false)
        guard child >= 0 else {
            let code = -child
            throw NightjarError(
                .storage,
                "starting \(quoted(executable)) failed: \(String(cString: strerror(code))); the transfer is recorded, and continues when a transferd runs",
                code: code)
        }
        // A handler of SIGCHLD in this process may have removed the child, so that its status is unknown.
        var status: Int32 = 0
        var found: pid_t = 0
        repeat { found = waitpid(child, &status, 0) } while found < 0 && errno == EINTR
        guard found < 0 || status == 0 else {
            throw NightjarError(
                .storage,
                "\(quoted(executable)) could not start a worker; the transfer is recorded, and continues when a transferd runs"
            )
        }
    }
}
