import NightjarTestSupport

@testable import NightjarHTTP

/// One process of ``CookieFileSystem``: a jar, and the thread that exchanges it with the file.
struct SimulatedCookies {
    enum Lifetime { case withLifetime, short, session }

    enum State {
        case idle
        /// Waits for write access.
        case waiting
        /// Has written but not committed.
        case writing
        /// Has committed, but the jar has not merged the changes.
        case committed
    }

    static let names = ["a", "b", "c"]

    let index: Int
    let keepsSession: Bool
    var offset = 0.0
    var isRunning = true
    private(set) var jar = CookieJar(isPublicSuffix: { _ in false })
    private(set) var state = State.idle
    private(set) var isLoaded = false
    /// The changes that the jar has seen.
    var known: Set<Int> = []
    /// The changes of this process that are not saved to the file, because they are session cookies.
    var privateChanges: Set<Int> = []
    /// The number of the open file; nil if none is open.
    private(set) var file: Int?
    private var exchange: CookieExchange
    private var savedRevision: UInt64?
    private var fileVersion = -1
    private var fileContent = CookieJar.Snapshot()
    /// The changes of the current exchange.
    private var changes = CookieJar.Snapshot()
    private var revision: UInt64?
    private var content = CookieJar.Snapshot()
    private var exported: Set<Int> = []
    private var received: Set<Int> = []
    private var news = CookieJar.Snapshot()

    init(_ index: Int, keepsSession: Bool, offset: Double = 0) {
        self.index = index
        self.keepsSession = keepsSession
        self.offset = offset
        exchange = CookieExchange(keepsSession: keepsSession)
    }

    var isExchanging: Bool { state != .idle }
    var isSaved: Bool { savedRevision == jar.revision }

    /// The condition that `CookieWriter` checks before an exchange.
    func hasWork(_ file: CookieFileSystem.File) -> Bool {
        !isLoaded || !isSaved || self.file != file.number || fileVersion != file.version
    }

    // MARK: The caller

    static func identity(_ name: Int) -> Cookie.Identity {
        Cookie.Identity(name: names[name], domain: "h.test", isHostOnly: true, path: "/")
    }

    func has(_ name: Int) -> Bool { jar.table.find(SimulatedCookies.identity(name)) != nil }

    mutating func set(_ name: Int, _ lifetime: Lifetime, value: Int, at now: Double) -> CookieHistory.Change? {
        let expires: Double? =
            switch lifetime {
            case .withLifetime: 9e9
            case .short: now + offset + 5
            case .session: nil
            }
        guard
            let cookie = try? Cookie(
                name: SimulatedCookies.names[name], value: String(value), domain: "h.test", expires: expires),
            (try? jar.add(cookie, at: now + offset)) == .stored
        else { return nil }
        return CookieHistory.Change(
            process: index, keepsSession: keepsSession, name: name, value: String(value), expires: expires,
            isShared: expires != nil || keepsSession)
    }

    mutating func delete(_ name: Int, at now: Double) -> CookieHistory.Change? {
        guard jar.delete(name: SimulatedCookies.names[name], at: now + offset) > 0 else { return nil }
        return CookieHistory.Change(process: index, keepsSession: keepsSession, name: name)
    }

    mutating func clear(at now: Double) -> CookieHistory.Change? {
        jar.clear(at: now + offset)
        return CookieHistory.Change(process: index, keepsSession: keepsSession, name: nil)
    }

    mutating func send(at now: Double) {
        guard let url = try? RequestURL("https://h.test/") else { return }
        _ = jar.retrieve(for: url, at: now + offset, isSafeMethod: true)
    }

    // MARK: The exchange

    mutating func begin() {
        changes = isLoaded ? jar.snapshot() : CookieJar.Snapshot()
        revision = isLoaded ? jar.revision : nil
        exported = isLoaded ? known : []
        state = .waiting
    }

    mutating func write(over file: CookieFileSystem.File, at now: Double) {
        if self.file != file.number {
            self.file = file.number
            fileVersion = -1
        }
        let stored = fileVersion == file.version ? fileContent : file.content
        changes = exchange.changes(changes)
        content = exchange.content(changes, over: stored, at: now + offset)
        received = file.known
        state = .writing
    }

    mutating func commit(to file: inout CookieFileSystem.File) {
        if content != file.content || !exported.subtracting(privateChanges).isSubset(of: file.known) {
            file.version += 1
        }
        file.content = content
        file.known.formUnion(exported)
        fileContent = content
        fileVersion = file.version
        received.formUnion(exported)
        news = exchange.committed(content, after: changes)
        state = .committed
    }

    mutating func take(at now: Double) {
        savedRevision = jar.take(news, over: revision, at: now + offset)
        known.formUnion(received)
        isLoaded = true
        state = .idle
    }

    /// Ends an exchange because the file cannot be written. A starting process uses the content that it can read.
    mutating func fail(reading file: CookieFileSystem.File, at now: Double) {
        self.file = nil
        guard state != .committed else { return take(at: now) }
        state = .idle
        guard !isLoaded else { return }
        savedRevision = jar.take(exchange.visible(file.content), over: nil, at: now + offset)
        known = file.known
        isLoaded = true
    }
}
