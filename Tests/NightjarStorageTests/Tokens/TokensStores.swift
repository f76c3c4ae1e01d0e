import Foundation
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport

/// The stores under test. Each store uses a folder of the test.
enum TokenStoreKind: String, CaseIterable {
    case memory, file, encrypted, sqlite

    static let persistent: [TokenStoreKind] = [.file, .encrypted, .sqlite]

    func store(_ path: String) -> any TokenStore {
        switch self {
        case .memory: MemoryTokenStore()
        case .file: FileTokenStore(path: path)
        case .encrypted: FileTokenStore(path: path, key: EncryptionKey(bytes: [UInt8](repeating: 7, count: 32)))
        case .sqlite: SQLiteTokenStore(path: path, account: "shared")
        }
    }
}

extension TokenStore {
    /// Replaces the stored login.
    func put(_ login: StoredLogin) throws {
        let isSaved = try save(login, replacing: load()?.version)
        guard isSaved else { throw NightjarError(.storage, "another client has saved a login meanwhile") }
    }

    /// Replaces the stored login with the record of a logout.
    func logOut() throws {
        guard let stored = try load() else { return }
        try put(StoredLogin(.loggedOut, lineage: stored.lineage, generation: StoredLogin.generation(after: stored)))
    }
}

func exampleLogin(_ generation: UInt64 = 1, pending: Bool = false) -> StoredLogin {
    let moment = Timestamp(rfc3339: "2026-01-31T23:59:59.123456789Z")
    return StoredLogin(
        token: Token(
            access: "access-secret-\(generation)", refresh: "refresh-secret-\(generation)", type: "Bearer",
            expiry: moment, scope: "a b ü"),
        lineage: 77, generation: generation,
        pending: pending ? moment.map { PendingExchange(key: "key-secret", began: $0) } : nil)
}

func failure(_ body: () throws -> Void) -> NightjarError? {
    do {
        try body()
        return nil
    } catch {
        return error as? NightjarError
    }
}

func permissions(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
}

/// Processes that use a store. They end with this object.
final class TokenStoreWorkers {
    private var running: [ChildProcess] = []
    private let program: String

    init(_ program: String = TokenStoreWorkers.path) { self.program = program }

    static var path: String { path(of: "TokenStoreWorker") }

    static func path(of program: String) -> String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(program).path
    }

    deinit { for process in running { end(process) } }

    @discardableResult
    func start(
        _ arguments: [String], output: String? = nil, environment: [String: String] = [:]
    ) throws -> ChildProcess {
        let process = try ChildProcess(program, arguments, output: output, environment: environment)
        running.append(process)
        return process
    }

    /// Waits for the first line that a process writes to `output`, and returns it.
    static func line(of output: String) throws -> String {
        var text = ""
        try eventually("a line of the worker", within: .seconds(20)) {
            text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
            return text.hasSuffix("\n")
        }
        return String(text.dropLast())
    }

    /// Kills a process.
    ///
    /// - Returns: False if the process had already ended by itself.
    @discardableResult
    func end(_ process: ChildProcess) -> Bool {
        process.send(SIGKILL)
        running.removeAll { $0 === process }
        return process.wait() == .signal(SIGKILL)
    }
}
