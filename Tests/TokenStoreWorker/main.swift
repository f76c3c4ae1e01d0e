// Uses a token store in a separate process. Tests kill the process, limit its file size or fork it.
//   TokenStoreWorker loop KIND PATH          rotates the login until it is killed; exits with status 1
//                                            if the store returns a wrong login
//   TokenStoreWorker hold KIND PATH          takes the lock, reports it, and waits to be killed
//   TokenStoreWorker fork KIND PATH          like hold, with a forked child that reports what it may do
//   TokenStoreWorker save KIND PATH LIMIT    saves once, as the user `nobody` if LIMIT is `nobody` and it runs as root,
//                                            otherwise with files limited to LIMIT bytes
//   TokenStoreWorker keyring STEP            one step on the keyring: load, save, clear, lock or fork
// KIND is file, encrypted, sqlite or keyring. A keyring has no path.

import Glibc
import NightjarHTTP
import NightjarStorage

func writeLine(_ line: String) {
    print(line)
    fflush(nil)
}

func store(_ kind: String, _ path: String) -> any TokenStore {
    switch kind {
    case "sqlite": SQLiteTokenStore(path: path, account: "shared")
    case "keyring": SecretServiceTokenStore(service: "https://id.example", account: "me")
    case "encrypted": FileTokenStore(path: path, key: EncryptionKey(bytes: [UInt8](repeating: 7, count: 32)))
    default: FileTokenStore(path: path)
    }
}

func login(_ generation: UInt64, pending: Bool = false, token: Token? = nil) -> StoredLogin {
    // The length varies, so that a partially written record would be detected.
    let filling = String(repeating: "x", count: Int(generation % 5000))
    return StoredLogin(
        token: token ?? Token(access: "access-\(generation)-\(filling)", refresh: "refresh-\(generation)"),
        lineage: 77, generation: generation,
        pending: pending
            ? Timestamp(secondsSince1970: Int64(1_750_000_000)).map { PendingExchange(key: "k", began: $0) } : nil)
}

extension TokenStore {
    /// Replaces the stored login.
    func put(_ login: StoredLogin) throws {
        let isSaved = try save(login, replacing: load()?.version)
        guard isSaved else { throw NightjarError(.script, "another process saved a login first") }
    }
}

func check(_ found: StoredLogin) throws {
    let rotated = found.pending == nil ? found.generation : found.generation - 1
    guard found.token == login(rotated).token else { throw NightjarError(.script, "torn: \(found.generation)") }
}

func loop(_ store: any TokenStore) throws {
    var newest: UInt64 = 0
    while true {
        guard let lock = try store.tryLock() else {
            usleep(300)
            if let found = try store.load() { try check(found) }
            continue
        }
        let found = try store.load()
        if let found { try check(found) }
        let base = found?.generation ?? 0
        guard base >= newest else { throw NightjarError(.script, "went back from \(newest) to \(base)") }
        if let found {
            // If the previous process died during an exchange, the exchange counts as completed.
            let token = found.pending == nil ? found.token : login(base).token
            try store.put(login(base + 1, pending: true, token: token))
        }
        newest = base + (found == nil ? 1 : 2)
        try store.put(login(newest))
        lock.unlock()
    }
}

func fork() -> Int32 {
    typealias Fork = @convention(c) () -> Int32
    guard let address = dlsym(nil, "fork") else { return -1 }
    return unsafeBitCast(address, to: Fork.self)()
}

func waitToBeKilled() -> Never {
    while true { sleep(60) }
}

func limit(_ text: String) {
    if text == "nobody" {
        if geteuid() == 0 { _ = setuid(65534) }
    } else if let bytes = UInt(text) {
        var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
        setrlimit(__rlimit_resource_t(1), &limit)  // RLIMIT_FSIZE, which is an enumeration constant in C
    }
}

func keyring(_ step: String) throws {
    let store = store("keyring", "")
    switch step {
    case "load":
        let stored = try store.load()
        writeLine(
            stored.map { login in login.token.map { "\(login.generation) \($0.access)" } ?? "logged out" } ?? "none")
    case "save":
        let next = try (store.load()?.generation ?? 0) + 1
        try store.put(login(next))
        writeLine("saved \(next)")
    case "clear":
        if let stored = try store.load() {
            try store.put(StoredLogin(.loggedOut, lineage: stored.lineage, generation: stored.generation + 1))
        }
        writeLine("cleared")
    case "fork":
        let lock = try store.tryLock()
        let held = try store.load()
        if fork() == 0 {
            lock?.unlock()  // no effect: the parent holds the lock
            let uses: [() throws -> Void] = [
                { _ = try store.tryLock() }, { _ = try store.load() }, { try store.put(held ?? login(1)) },
                { _ = try store.save(login(1), replacing: nil) },
            ]
            let kinds = uses.map { use in
                do {
                    try use()
                    return "none"
                } catch {
                    return (error as? NightjarError)?.kind.name ?? "other"
                }
            }
            writeLine("child \(getpid()) \(kinds.joined(separator: ","))")
        }
        withExtendedLifetime(lock) { waitToBeKilled() }
    default:
        let lock = try store.tryLock()
        writeLine("\(lock != nil) \(try store.tryLock() == nil)")
        lock?.unlock()
        writeLine("\(try store.tryLock() != nil)")
    }
}

let arguments = CommandLine.arguments + ["", "", "", ""]
do {
    switch arguments[1] {
    case "loop": try loop(store(arguments[2], arguments[3]))
    case "hold":
        let lock = try store(arguments[2], arguments[3]).tryLock()
        writeLine(lock == nil ? "refused" : "held")
        withExtendedLifetime(lock) { waitToBeKilled() }
    case "fork":
        let store = store(arguments[2], arguments[3])
        let memory = MemoryTokenStore(login(1))
        let lock = try store.tryLock()
        if fork() == 0 {
            lock?.unlock()  // no effect: the parent holds the lock
            var kind = "none"
            do { _ = try memory.load() } catch { kind = error.kind.name }
            writeLine("child \(getpid()) \(try store.tryLock() == nil) \(try store.load()?.generation ?? 0) \(kind)")
        }
        withExtendedLifetime(lock) { waitToBeKilled() }
    case "save":
        let store = store(arguments[2], arguments[3])
        limit(arguments[4])
        let next = (try? store.load()?.generation) ?? 0
        try store.put(login(next + 1))
        writeLine("saved")
    case "keyring": for step in arguments[2].split(separator: "+") { try keyring(String(step)) }
    default: exit(2)
    }
} catch {
    writeLine("\(error)")
    exit(1)
}
