import Glibc
import NightjarHTTP
import NightjarTestSupport
import Testing

/// Tests with a real gnome-keyring on a private bus, and libsecret. `scripts/setup --tests` installs them.
@Suite(.serialized) struct TokensKeyringTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        mkdir(folder.file("run"), 0o700)
        mkdir(folder.file("data"), 0o700)
    }

    private static var isInstalled: Bool {
        ["dbus-run-session", "gnome-keyring-daemon"].allSatisfy { access("/usr/bin/\($0)", X_OK) == 0 }
    }

    private func environment() -> [String: String] {
        ["HOME": folder.path, "XDG_RUNTIME_DIR": folder.file("run"), "XDG_DATA_HOME": folder.file("data")]
    }

    /// A Python program that unblocks the signals. Foundation starts processes with blocked signals, including the
    /// signal that ends the bus. It considers a process running until the child processes have ended.
    private static let unblocked =
        "import signal, subprocess, sys; signal.pthread_sigmask(signal.SIG_SETMASK, []); "
        + "sys.exit(subprocess.run(sys.argv[1:]).returncode)"

    /// - Parameter steps: The steps of the worker: `load+save`.
    private func keyring(_ steps: String, unlocked: Bool = true) throws -> String {
        let start =
            unlocked
            ? "printf secret | gnome-keyring-daemon --unlock --components=secrets"
            : "gnome-keyring-daemon --start --components=secrets"
        let script = "{ \(start); } >/dev/null 2>&1; exec \"$0\" keyring \"$1\""
        return try run(
            "python3",
            ["-c", Self.unblocked, "dbus-run-session", "--", "sh", "-c", script, TokenStoreWorkers.path, steps],
            environment: environment()
        ).text
    }

    @Test(.enabled(if: isInstalled)) func savedLoginOutlivesTheKeyringProcess() throws {
        #expect(try keyring("load+save+load+save") == "none\nsaved 1\n1 access-1-x\nsaved 2\n")
        #expect(try keyring("load+lock") == "2 access-2-xx\ntrue true\ntrue\n")
        // A locked keyring is not treated as an empty keyring.
        for step in ["load", "save", "clear"] {
            #expect(try keyring(step, unlocked: false).contains("is locked; unlock it"))
        }
        #expect(try keyring("load+clear+load+clear") == "2 access-2-xx\ncleared\nlogged out\ncleared\n")
    }

    // MARK: Harm

    /// A bus and an unlocked keyring. Their processes end with this object.
    private final class Desktop {
        private(set) var environment: [String: String]
        private var processes: [ChildProcess] = []

        init(_ folder: TemporaryDirectory, _ environment: [String: String]) throws {
            self.environment = environment
            let address = folder.file("address")
            processes.append(
                try ChildProcess(
                    "/usr/bin/dbus-daemon", ["--session", "--nofork", "--print-address=1"], output: address,
                    environment: environment))
            self.environment["DBUS_SESSION_BUS_ADDRESS"] = try TokenStoreWorkers.line(of: address)
            try folder.write("password", "secret")
            processes.append(
                try ChildProcess(
                    "/usr/bin/gnome-keyring-daemon", ["--foreground", "--unlock", "--components=secrets"],
                    input: folder.file("password"), errors: folder.file("keyring-errors"), environment: self.environment
                ))
            try eventually("the keyring was there", within: .seconds(20)) { try run("load") == "none\n" }
        }

        deinit {
            for process in processes.reversed() {
                process.send(SIGKILL)
                process.wait()
            }
        }

        func run(_ steps: String) throws -> String {
            try NightjarTestSupport.run(TokenStoreWorkers.path, ["keyring", steps], environment: environment).text
        }
    }

    @Test(.enabled(if: isInstalled)) func lockEndsWithItsProcess() throws {
        let desktop = try Desktop(folder, environment())
        let workers = TokenStoreWorkers()
        let output = folder.file("output")
        let process = try workers.start(["hold", "keyring"], output: output, environment: desktop.environment)
        #expect(try TokenStoreWorkers.line(of: output) == "held")
        #expect(try desktop.run("lock") == "false true\nfalse\n")
        workers.end(process)
        #expect(try desktop.run("lock+save") == "true true\ntrue\nsaved 1\n")
    }

    /// GLib's thread does not exist in a forked child, and calls would wait for it forever. The child's calls therefore
    /// fail. The child does not keep the lock.
    @Test(.enabled(if: isInstalled)) func forkedChildIsRejectedAndDoesNotHaveTheLock() throws {
        let desktop = try Desktop(folder, environment())
        #expect(try desktop.run("save") == "saved 1\n")
        let workers = TokenStoreWorkers()
        let output = folder.file("output")
        let process = try workers.start(["keyring", "fork"], output: output, environment: desktop.environment)
        let line = try TokenStoreWorkers.line(of: output)
        let words = line.split(separator: " ")
        let child = words.count > 1 ? pid_t(words[1]) ?? 0 : 0
        defer { if child > 1 { kill(child, SIGKILL) } }
        #expect(words.count == 3 && words.last == "forked,forked,forked,forked", "\(line)")
        #expect(try desktop.run("lock") == "false true\nfalse\n")
        workers.end(process)
        #expect(try desktop.run("lock+load") == "true true\ntrue\n1 access-1-x\n")
        #expect(kill(child, 0) == 0)
    }

    /// Three processes rotate one login. In each round, one of them is killed.
    @Test(.enabled(if: isInstalled)) func killedProcessesLeaveACompleteLogin() throws {
        let desktop = try Desktop(folder, environment())
        let workers = TokenStoreWorkers()
        var random = SeededRandom(seed: 8)
        func start(_ index: Int) throws -> ChildProcess {
            try workers.start(
                ["loop", "keyring"], output: folder.file("output-\(index)"), environment: desktop.environment)
        }
        var processes = try (0..<3).map(start)
        var newest = 0
        for round in 0..<30 {
            usleep(UInt32.random(in: 20_000...120_000, using: &random))
            let index = Int.random(in: 0..<3, using: &random)
            #expect(workers.end(processes[index]), "round \(round)")
            processes[index] = try start(index)
            let found = try desktop.run("load")
            let generation = found.split(separator: " ").first.flatMap { Int($0) } ?? 0
            #expect(generation >= newest, "round \(round): \(found)")
            newest = max(newest, generation)
        }
        // The processes have not ended by themselves because of errors.
        for process in processes { #expect(workers.end(process)) }
        #expect(newest > 10, "\(newest)")
        #expect(try desktop.run("lock") == "true true\ntrue\n")
    }

    // MARK: Without a keyring

    @Test func missingBusIsReportedWithAdvice() throws {
        let result = try run(
            "env", ["-u", "DBUS_SESSION_BUS_ADDRESS", TokenStoreWorkers.path, "keyring", "load"],
            environment: environment())
        #expect(result.status == 1)
        #expect(result.text.contains("no session bus"))
    }

    @Test func lostBusIsAnError() throws {
        let environment = environment().merging(["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder.file("none"))"]) { $1 }
        let result = try run(TokenStoreWorkers.path, ["keyring", "load"], environment: environment)
        #expect(result.status == 1)
        #expect(result.text.contains("cannot be used") || result.text.contains("requires libsecret"))
    }
}
