import Glibc
import Nightjar
import NightjarDaemon
import NightjarHTTP
import NightjarStorage

/// `nightjar transferd`: performs the background transfers of a journal.
struct TransferWorker {
    private var journal: String?
    private var options = TransferDaemon.Options()
    private var logs = false
    private var showsHelp = false

    /// - Parameter words: The arguments after `transferd`.
    init(_ words: [String]) throws(UsageError) {
        var rest = words[...]
        while let option = rest.popFirst() {
            switch option {
            case "--log": logs = true
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
            default: throw UsageError("transferd: unrecognized option '\(option)'")
            }
        }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(UsageError) -> String {
        guard let value = rest.popFirst() else { throw UsageError("transferd: \(option) requires an argument") }
        return value
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
        guard let lock = try JournalWorkerLock(journal: path) else {
            Console.printError("another transferd already works on the journal \(path)")
            return 0
        }
        var options = options
        if logs { options.log = { Console.write("\($0)\n", to: .error) } }
        let daemon = TransferDaemon(journal: path, options)
        TransferWorker.stopOnSignals(daemon)
        defer { withExtendedLifetime(lock) {} }
        try daemon.run()
        return 0
    }

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
          --log            write warnings and the ends of transfers to standard error

        """
}
