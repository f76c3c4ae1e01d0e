// Uses a journal in a separate process. Tests kill the process, limit its file size or fork it.
//   JournalWorker work JOURNAL EFFECTS KIND   adds the entry `one` and works on it
//   JournalWorker loop JOURNAL EFFECTS SEED   takes entries until all are finished
//   JournalWorker outbox JOURNAL EFFECTS      adds the entries of an outbox and delivers them
//   JournalWorker hold JOURNAL                takes the entry `held`, reports its fencing number, and waits to be killed
//   JournalWorker fork JOURNAL                like hold, with a forked child that reports what it may do
//   JournalWorker closed JOURNAL              forks after it has closed the journal; parent and child report what they may do
//   JournalWorker in-use JOURNAL              forks inside a transaction; the child closes the journal
//   JournalWorker limited JOURNAL LIMIT       adds entries with files limited to LIMIT bytes, or as the user `nobody` if
//                                             LIMIT is `nobody` and it runs as root
// KIND is `checked` if the worker can request from the server whether an effect has happened, and otherwise `blind`.
// Each accepted write is reported in a line. The lines are complete if the process is killed.

import Glibc
import NightjarHTTP
import NightjarStorage
import Synchronization

func writeLine(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

struct Contradiction: Error { let description: String }

/// The server of the tests: a file with one line for each effect that has happened.
struct Effects {
    let path: String

    func perform(_ key: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Contradiction(description: "no effects: \(errno)") }
        defer { close(descriptor) }
        let bytes = Array((key + "\n").utf8)
        guard pwrite(descriptor, bytes, bytes.count, 0) == bytes.count else {
            throw Contradiction(description: "no effect: \(errno)")
        }
    }

    func hasHappened(_ key: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(descriptor, &part, part.count)
            guard count > 0 else { break }
            text += part.prefix(count)
        }
        return text.split(separator: 0x0A).contains { $0.elementsEqual(key.utf8) }
    }
}

/// The work on an entry: two effects, and a state that counts the accepted writes of all workers.
struct Work {
    let journal: Journal
    let effects: Effects
    let lease: JournalLease
    /// Called between two writes.
    var pause: () -> Void = {}
    private(set) var count = 0

    init(_ journal: Journal, _ effects: Effects, _ lease: JournalLease) {
        (self.journal, self.effects, self.lease) = (journal, effects, lease)
        count = Int(String(decoding: lease.entry.state, as: UTF8.self)) ?? 0
    }

    /// Whether the worker can request the outcome of an effect from the server.
    private var canAsk: Bool { lease.entry.kind == "checked" }

    private mutating func next() -> [UInt8] {
        count += 1
        return Array(String(count).utf8)
    }

    mutating func run() throws {
        writeLine("taken \(lease.id) \(lease.fence)")
        for name in ["a", "b"] {
            pause()
            try journal.update(lease, state: next())
            writeLine("accepted \(lease.id) \(count)")
            pause()
            // From here to the result, the lease must not be lost by the duration of the effect.
            try journal.extend(lease, for: .seconds(3600))
            let key = "\(lease.id)-\(name)"
            switch try journal.recordIntent(name, key: key, lease) {
            case .performed: continue
            case .perform(let intent):
                writeLine("intent \(key)")
                pause()
                try effects.perform(key)
                writeLine("effect \(key)")
                try complete(intent, key)
            case .unresolved(let intent):
                guard canAsk else {
                    try journal.finish(lease, as: .inDoubt)
                    writeLine("doubt \(lease.id)")
                    return
                }
                pause()
                if !effects.hasHappened(key) { try effects.perform(key) }
                try complete(intent, key)
            }
            try journal.extend(lease, for: lease.duration)
        }
        pause()
        try journal.finish(lease, as: .done, result: Array("result".utf8))
        writeLine("finished \(lease.id)")
    }

    private mutating func complete(_ intent: JournalIntent, _ key: String) throws {
        try journal.recordResult(Array(key.utf8), of: intent.number, state: next(), lease)
        writeLine("result \(key)")
        writeLine("accepted \(lease.id) \(count)")
    }
}

func entry(_ id: String, _ kind: String) -> NewJournalEntry {
    NewJournalEntry(id: id, kind: kind, input: Array("input of \(id)".utf8))
}

func loop(_ journal: Journal, _ effects: Effects, _ seed: UInt64) throws {
    var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    func chance(_ bound: UInt64) -> UInt64 {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random % bound
    }
    /// Usually takes the next entry, and sometimes tries to take an entry of another worker.
    func take(_ kind: String, _ duration: Duration, _ number: UInt64) throws -> JournalLease? {
        let running = number < 500 ? try journal.entries(kind: kind, phase: .running) : []
        guard !running.isEmpty else { return try journal.take(kind: kind, for: duration) }
        do {
            return try journal.take(id: running[Int(number) % running.count].id, for: duration)
        } catch let error as JournalError {
            guard case .wrongPhase = error.cause else { throw error }
            return nil
        }
    }
    while true {
        let kind = chance(2) == 0 ? "checked" : "blind"
        // Some leases expire during a pause, so that another worker adopts their entries.
        let duration = Duration.milliseconds(Int64(20 + chance(30)))
        guard let lease = try take(kind, duration, chance(1000)) else {
            if try journal.entries(phase: .pending).isEmpty, try journal.entries(phase: .running).isEmpty { return }
            usleep(2000)
            continue
        }
        var work = Work(journal, effects, lease)
        work.pause = { if chance(8) == 0 { usleep(UInt32(chance(80_000))) } }
        do {
            if chance(10) == 0 { try journal.release(lease, after: .milliseconds(5)) } else { try work.run() }
        } catch let error as JournalError {
            guard case .leaseLost = error.cause else { throw error }
            writeLine("lost \(lease.id) \(lease.fence)")
        }
    }
}

/// Delivers the entries of an outbox to a server that performs a write once for each idempotency key, here the id. The first
/// response to `x1` is lost. `y` is parked, and then revised.
func deliver(_ journal: Journal, _ effects: Effects) throws {
    for (id, key) in [("x1", "x"), ("x2", "x"), ("y", "y")] {
        var new = entry(id, "outbox")
        new.orderKey = key
        _ = try journal.add(new, within: JournalQuota(entries: 3, bytes: 1 << 20))
        writeLine("added \(id)")
    }
    while let lease = try journal.takeToSend(kind: "outbox", for: .seconds(3600), limit: 1).first {
        let id = lease.id
        writeLine("taken \(id)")
        if !effects.hasHappened(id) { try effects.perform(id) }
        switch (id, String(decoding: lease.entry.state, as: UTF8.self)) {
        case ("x1", ""):
            try journal.releaseUnsent(lease, after: .zero, state: Array("lost".utf8), isUnresolved: true)
            writeLine("lost x1")
        case ("y", ""):
            try journal.releaseUnsent(lease, after: nil, state: Array("parked".utf8), isUnresolved: false)
            writeLine("parked y")
            try journal.continueParked("y") { _ in Array("revised".utf8) }
            writeLine("revised y")
        default:
            try journal.finishSent(lease, result: Array("response \(id)".utf8))
            writeLine("done \(id)")
        }
    }
    writeLine("delivered")
}

func fork() -> Int32 {
    typealias Fork = @convention(c) () -> Int32
    guard let address = dlsym(nil, "fork") else { return -1 }
    return unsafeBitCast(address, to: Fork.self)()
}

/// Forks while the journal holds its lock: the journal reads the clock inside a transaction.
func forkInsideATransaction(_ path: String) throws {
    let used = Mutex<Journal?>(nil)
    let journal = Journal(
        path: path,
        clock: JournalClock {
            if let journal = used.withLock({ $0.take() }), fork() == 0 {
                alarm(10)
                journal.close()
                writeLine("child closed")
                _exit(0)
            }
            return JournalTime(boot: "", uptime: 0, wall: 0)
        })
    used.withLock { $0 = journal }
    let result = kind { _ = try journal.add(entry("held", "checked")) }
    wait(nil)
    writeLine("parent \(result)")
}

func waitToBeKilled() -> Never {
    while true { sleep(60) }
}

func kind(_ body: () throws -> Void) -> String {
    do {
        try body()
        return "none"
    } catch {
        return (error as? JournalError)?.failure.kind.name ?? "other"
    }
}

func limit(_ text: String) {
    if text == "nobody" {
        if geteuid() == 0 { _ = setuid(65534) }
    } else if let bytes = UInt(text) {
        var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
        setrlimit(__rlimit_resource_t(1), &limit)  // RLIMIT_FSIZE, which is an enumeration constant in C
    }
}

func main(_ arguments: [String]) throws {
    let journal = Journal(path: arguments[2])
    let effects = Effects(path: arguments[3])
    switch arguments[1] {
    case "work":
        _ = try journal.add(entry("one", arguments[4]))
        writeLine("added one")
        guard let lease = try journal.take(id: "one", for: .seconds(3600)) else {
            throw Contradiction(description: "not taken")
        }
        var work = Work(journal, effects, lease)
        try work.run()
        journal.close()
    case "loop":
        try loop(journal, effects, UInt64(arguments[4]) ?? 0)
        writeLine("drained")
    case "outbox":
        try deliver(journal, effects)
        journal.close()
    case "hold", "fork":
        guard let lease = try journal.take(id: "held", for: .seconds(3600)) else {
            throw Contradiction(description: "not taken")
        }
        if arguments[1] == "fork", fork() == 0 {
            let uses: [() throws -> Void] = [
                { _ = try journal.entry("held") }, { _ = try journal.add(entry("other", "checked")) },
                { try journal.update(lease, state: []) }, { try journal.finish(lease, as: .done) },
                { _ = try Journal(path: journal.path).entry("held") },
            ]
            let kinds = uses.map(kind)
            journal.close()
            writeLine("child \(getpid()) \(kinds.joined(separator: ","))")
            _exit(0)
        }
        if arguments[1] == "hold" { writeLine("\(lease.fence)") }
        withExtendedLifetime(journal) { waitToBeKilled() }
    case "closed":
        _ = try journal.entry("held")
        journal.close()
        let child = fork()
        if child == 0 {
            let kinds = [journal, Journal(path: journal.path)].map { one in kind { _ = try one.entry("held") } }
            writeLine("child \(kinds.joined(separator: ","))")
            _exit(0)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        writeLine("parent \(kind { _ = try journal.entry("held") })")
    case "in-use": try forkInsideATransaction(journal.path)
    case "limited":
        limit(arguments[3])
        for number in 0..<1000 {
            var entry = entry("\(number)", "checked")
            entry.state = [UInt8](repeating: 1, count: 5000)
            _ = try journal.add(entry)
            writeLine("added \(number)")
        }
    default: exit(2)
    }
}

do {
    try main(CommandLine.arguments + ["", "", "", "", "", ""])
} catch {
    writeLine("failed: \(error)")
    exit(1)
}
