import Nightjar
import NightjarDaemon
import NightjarHTTP
import NightjarStorage
import NightjarSystem

/// `nightjar transferd`: performs the background transfers of a journal.
struct TransferWorker {
    private var journal: String?
    private var options = TransferDaemon.Options()
    private var logs = false
    private var showsHelp = false
    private var detaches = false

    /// - Parameter words: The arguments after `transferd`.
    init(_ words: [String]) throws(UsageError) {
        var rest = words[...]
        while let option = rest.popFirst() {
            switch option {
            case "--log": logs = true
            case "--detach": detaches = true
            case "-h", "--help": showsHelp = true
            case "--journal": journal = try TransferWorker.value(of: option, &rest)
            case "--idle":
                let text = try TransferWorker.value(of: option, &rest)
                guard let seconds = Double(text), let duration = Duration(seconds: seconds) else {
                    throw UsageError("transferd: --idle requires a number of seconds, got '\(text)'")
                }
                options.idleTimeout = duration
            case "--concurrency":
                let text = try TransferWorker.value(of: option, &rest)
                guard let count = Int(text), 1...64 ~= count else {
                    throw UsageError("transferd: --concurrency requires a number from 1 to 64, got '\(text)'")
                }
                options.concurrency = count
            case "--max-rate":
                let text = try TransferWorker.value(of: option, &rest)
                guard let rate = TransferWorker.bytes(text), TransferSettings.rates.contains(rate) else {
                    throw UsageError(
                        "transferd: --max-rate requires a number of bytes per second such as 500, 64K, 8M or 1G, got '\(text)'"
                    )
                }
                options.maximumRate = rate
            default: throw UsageError("transferd: unrecognized option '\(option)'")
            }
        }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError("transferd: \(option) requires an argument") }
        return value
    }

    /// Reads a number of bytes such as `64K`. Nil for another text.
    private static func bytes(_ text: String) -> Int? {
        let units: [Character: Int] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Int(unit == nil ? text : String(text.dropLast())) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
        return overflow ? nil : product
    }

    /// Works until there is no work, or until SIGTERM or SIGINT. Returns the exit status of the process.
    func run() throws(NightjarError) -> Int32 {
        guard !showsHelp else {
            Console.write(TransferWorker.usage, to: .output)
            return 0
        }
        guard let path = journal ?? JournalPath.standard else {
            throw NightjarError(.invalidArgument, "transferd needs a journal; use --journal PATH, or set HOME")
        }
        guard !detaches else { return try detach(path) }
        var options = options
        options.listener = try TransferWorker.inheritedListener()
        guard let lock = try lock(path, isActivated: options.listener != nil) else {
            // Otherwise, systemd would start this program again for the same connections.
            if let listener = options.listener {
                while let peer = try JournalWorkerSocket.accept(listener) { close(peer) }
            }
            Console.printError("another transferd already works on the journal \(path)")
            return 0
        }
        if logs { options.log = { Console.write("\($0)\n", to: .error) } }
        let daemon = TransferDaemon(journal: path, options)
        TransferWorker.stopOnSignals(daemon)
        defer { withExtendedLifetime(lock) {} }
        try daemon.run()
        return 0
    }

    /// Waits for a transferd that is ending: it does not listen on its socket any more. At most one process waits.
    ///
    /// - Parameter isActivated: Whether another process listens on the socket.
    private func lock(_ journal: String, isActivated: Bool) throws(NightjarError) -> JournalWorkerLock? {
        if let lock = try JournalWorkerLock(journal: journal) { return lock }
        guard let place = try JournalWorkerLock(journal: journal, isSuccessor: true) else { return nil }
        defer { withExtendedLifetime(place) {} }
        let deadline = ContinuousClock.now + TransferWorker.lockTimeout
        while ContinuousClock.now < deadline {
            if let lock = try JournalWorkerLock(journal: journal) { return lock }
            let socket = isActivated ? nil : JournalWorkerSocket.path(journal: journal)
            if let peer = socket.flatMap({ JournalWorkerSocket.connect($0) }) {
                close(peer)
                return nil
            }
            usleep(20_000)
        }
        return nil
    }

    /// Starts this command again in a session of its own, and does not wait for it.
    ///
    /// - Throws: `storage`, also if the journal cannot be used.
    private func detach(_ journal: String) throws(NightjarError) -> Int32 {
        // Checks the journal, because the other process cannot report an error.
        _ = try Transfers(journal: journal).get(" ")
        var words = ["transferd", "--journal", journal, "--idle", "\(options.idleTimeout.inSeconds)"]
        words += ["--concurrency", "\(options.concurrency)"]
        if let rate = options.maximumRate { words += ["--max-rate", "\(rate)"] }
        let resolved = realpath("/proc/self/exe", nil)
        defer { free(resolved) }
        // The file may have been replaced since this process was started.
        let path = resolved.map { String(cString: $0) } ?? "/proc/self/exe"
        let child = Program(path, name: "nightjar", words).start(hasOwnSession: true)
        guard child >= 0 else {
            throw NightjarError(
                .storage, "starting transferd failed: \(String(cString: strerror(-child)))", code: -child)
        }
        return 0
    }

    /// Returns the socket that systemd has passed (sd_listen_fds(3)). Nil: none.
    ///
    /// - Throws: `invalid_argument` if the descriptor is not one listening local stream socket.
    private static func inheritedListener() throws(NightjarError) -> Int32? {
        guard let process = getenv("LISTEN_PID"), let count = getenv("LISTEN_FDS"),
            Int32(String(cString: process)) == getpid()
        else { return nil }
        let isOne = String(cString: count) == "1"
        // Not for the programs that this process starts.
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        guard isOne, JournalWorkerSocket.adopt(firstInherited) else {
            throw NightjarError(
                .invalidArgument, "socket activation of transferd requires one socket with ListenStream= and a path")
        }
        return firstInherited
    }

    private static let firstInherited: Int32 = 3
    private static let lockTimeout = Duration.seconds(12)

    /// Stops the daemon when the process receives SIGTERM or SIGINT. If there is no thread to wait for them, they end the
    /// process, and the transfers continue in the next one.
    private static func stopOnSignals(_ daemon: TransferDaemon) {
        var signals = endingSignals
        // The threads of clients inherit the mask.
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        var thread = pthread_t()
        let context = Unmanaged.passRetained(daemon)
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let daemon = Unmanaged<TransferDaemon>.fromOpaque(context).takeRetainedValue()
                var signals = TransferWorker.endingSignals
                var signal: Int32 = 0
                sigwait(&signals, &signal)
                daemon.stop()
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            return
        }
        pthread_detach(thread)
    }

    private static var endingSignals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        return signals
    }

    private static let usage = """
        usage: nightjar transferd [options]
          perform the background transfers of a journal until there is no work
          --journal PATH   the journal; default: that of the user
          --idle SECONDS   end after this time without work; default: 30
          --concurrency N  the maximum number of transfers that run at the same time, 1 to 64; default: 4
          --max-rate BYTES the maximum sum of the rates of all transfers, per second: 500, 64K, 8M or 1G
          --detach         work in the background
          --log            write warnings and the ends of transfers to standard error

        """
}
