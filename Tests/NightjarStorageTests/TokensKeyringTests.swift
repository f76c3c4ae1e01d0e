import Glibc
import NightjarHTTP
import NightjarTestSupport
import Testing

/// A real gnome-keyring on a bus of its own, by libsecret; scripts/setup --tests installs them.
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

    /// Foundation starts processes with signals blocked, among them the one that ends the bus, and takes them for running
    /// as long as what they have left behind does.
    private static let unblocked =
        "import signal, subprocess, sys; signal.pthread_sigmask(signal.SIG_SETMASK, []); "
        + "sys.exit(subprocess.run(sys.argv[1:]).returncode)"

    /// - Parameter steps: of the worker: `load+save`.
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

    @Test(.enabled(if: isInstalled)) func whatIsSavedOutlivesTheKeyringsProcess() throws {
        #expect(try keyring("load+save+load+save") == "none\nsaved 1\n1 access-1-x\nsaved 2\n")
        #expect(try keyring("load+lock") == "2 access-2-xx\ntrue true\ntrue\n")
        // A locked one is not an empty one.
        for step in ["load", "save", "clear"] {
            #expect(try keyring(step, unlocked: false).contains("is locked; unlock it"))
        }
        #expect(try keyring("load+clear+load+clear") == "2 access-2-xx\ncleared\nnone\ncleared\n")
    }

    @Test func withoutABusItSaysWhatToStart() throws {
        let result = try run(
            "env", ["-u", "DBUS_SESSION_BUS_ADDRESS", TokenStoreWorkers.path, "keyring", "load"],
            environment: environment())
        #expect(result.status == 1)
        #expect(result.text.contains("no session bus"))
    }

    @Test func aBusThatIsGoneIsAnError() throws {
        let environment = environment().merging(["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(folder.file("none"))"]) { $1 }
        let result = try run(TokenStoreWorkers.path, ["keyring", "load"], environment: environment)
        #expect(result.status == 1)
        #expect(result.text.contains("cannot be used") || result.text.contains("needs libsecret"))
    }
}
