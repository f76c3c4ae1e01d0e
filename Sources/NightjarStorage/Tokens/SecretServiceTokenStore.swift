import CSecret
import NightjarCrypto
import NightjarHTTP
import NightjarSystem
import Synchronization

/// Stores one login in the desktop's keyring (the Secret Service of freedesktop.org), through libsecret-1, which is
/// loaded on first use. Never prompts: a locked keyring is an error.
///
/// Durability depends on the service: a save returns when the service has reported success.
public struct SecretServiceTokenStore: TokenStore {
    public let service: String
    public let account: String

    /// Creates the store. Does not access the keyring yet. The service and the account together identify the login.
    public init(service: String, account: String) {
        self.service = service
        self.account = account
    }

    public var name: String { "keyring (service \(quoted(service)), account \(quoted(account)))" }

    public func load() throws(NightjarError) -> StoredLogin? {
        try checkUse()
        var text: UnsafeMutablePointer<CChar>?
        var message: UnsafeMutablePointer<CChar>?
        let result = csecret_load(service, account, &text, &message)
        defer { csecret_free(text) }
        guard try isFound(result, message), let text else { return nil }
        guard let record = Hexadecimal.decode(String(cString: text).utf8) else {
            throw failure(LoginRecord.Failure.foreign.keyringReason)
        }
        do throws(LoginRecord.Failure) {
            return try LoginRecord.decode(record, key: nil, place: "")
        } catch {
            throw failure(error.keyringReason)
        }
    }

    public func save(_ login: StoredLogin, replacing version: LoginVersion?) throws(NightjarError) -> Bool {
        try checkUse()
        guard let record = LoginRecord.encode(login, key: nil, place: "") else {
            throw failure("cannot store the login: its record would be larger than 1 MiB")
        }
        let lock = try FileLock.wait(lockPath(), byte: Byte.writing, lockTimeout: .seconds(30))
        defer { lock.unlock() }
        // A record that cannot be read is not overwritten.
        guard login.mayReplace(try load(), of: version) else { return false }
        var message: UnsafeMutablePointer<CChar>?
        let label = "\(service) (\(account))"
        _ = try isFound(
            csecret_store(service, account, label, Hexadecimal.encode(record), &message), message)
        return true
    }

    public func tryLock() throws(NightjarError) -> (any TokenLock)? {
        try checkUse()
        return try FileLock.take(lockPath(), byte: Byte.exchange)
    }

    // MARK: Service

    private func isFound(
        _ result: csecret_result, _ message: UnsafeMutablePointer<CChar>?
    ) throws(NightjarError) -> Bool {
        let reason = message.map { String(cString: $0) } ?? ""
        csecret_free(message)
        switch result {
        case CSECRET_OK: return true
        case CSECRET_NONE: return false
        case CSECRET_LOCKED: throw failure("is locked; unlock it (log in to the desktop, or use its password manager)")
        case CSECRET_NO_KEYRING:
            throw failure("cannot be used: the desktop has no default keyring; create one with its password manager")
        case CSECRET_NO_LIBRARY:
            throw failure(
                "requires libsecret: \(reason); install the Debian package libsecret-1-0, or use a token file")
        default:
            throw failure(
                "cannot be used: \(reason); check that a keyring such as gnome-keyring or KWallet is running in this session"
            )
        }
    }

    /// The ID of the process that first used the keyring, or 0. In a forked child, GLib's thread does not exist and
    /// calls would never return.
    private static let process = Atomic<Int32>(0)

    private func checkUse() throws(NightjarError) {
        guard !service.utf8.contains(0), !account.utf8.contains(0) else {
            throw NightjarError(.invalidArgument, "the service and account of a keyring login must not contain a NUL")
        }
        let own = getpid()
        let (_, user) = SecretServiceTokenStore.process.compareExchange(
            expected: 0, desired: own, ordering: .acquiringAndReleasing)
        guard user == 0 || user == own else {
            throw NightjarError(
                .forked,
                "the token \(name) cannot be used: the parent process used a keyring before it forked; fork before the first use of a keyring"
            )
        }
        // Without the address of a bus, GLib would start its own bus, which no other process would find.
        var status = stat()
        let folder = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? ""
        guard getenv("DBUS_SESSION_BUS_ADDRESS") != nil || (!folder.isEmpty && stat(folder + "/bus", &status) == 0)
        else {
            throw failure(
                "cannot be reached: no session bus (DBUS_SESSION_BUS_ADDRESS is not set, and there is no bus in "
                    + "XDG_RUNTIME_DIR); run the program in a desktop session or with dbus-run-session, or use a token "
                    + "file")
        }
    }

    // MARK: Lock

    private enum Byte {
        static let exchange: Int64 = 0
        static let writing: Int64 = 1
    }

    /// Returns the path of the lock file. The lock file is in a folder of the user, because the location of the keyring
    /// is not known.
    private func lockPath() throws(NightjarError) -> String {
        let folder = try lockFolder() + "/nightjar"
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw failure(
                "cannot be locked: \(quoted(folder)) cannot be created: \(String(cString: strerror(errno)))",
                code: errno)
        }
        let name = Hexadecimal.encode(Digest.sha256(Array("\(service)\0\(account)".utf8)).prefix(16))
        return try PrivateFile("\(folder)/login-\(name).lock", "lock file").place()
    }

    private func lockFolder() throws(NightjarError) -> String {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil }
        }
        if let folder = variable("XDG_RUNTIME_DIR") { return folder }
        // The usual value of XDG_RUNTIME_DIR. A process without the variable must use the same lock.
        let usual = "/run/user/\(geteuid())"
        if access(usual, W_OK) == 0 { return usual }
        if let folder = variable("XDG_STATE_HOME"), access(folder, W_OK) == 0 { return folder }
        guard let home = variable("HOME") else {
            throw failure("cannot be locked: neither XDG_RUNTIME_DIR nor HOME is set")
        }
        var folder = home
        for name in [".local", "state"] {
            folder += "/" + name
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw failure(
                    "cannot be locked: \(quoted(folder)) cannot be created: \(String(cString: strerror(errno)))",
                    code: errno)
            }
        }
        return folder
    }
}
