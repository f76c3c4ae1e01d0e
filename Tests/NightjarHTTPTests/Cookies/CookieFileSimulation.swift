import NightjarTestSupport

@testable import NightjarHTTP

/// Processes that share a cookie file. Each process runs the state machines of a client: `CookieJar` and
/// `CookieExchange`.
///
/// The invariants compare the content of each jar, and of the file, with the changes that have reached it. The latest
/// change of a cookie determines its value. If the clocks of all processes agree, changes are ordered by time.
/// Otherwise, a change is later than another if its process knew the other.
struct CookieFileSystem: SimulatedSystem {
    enum Action: CustomStringConvertible {
        case set(Int, name: Int, SimulatedCookies.Lifetime)
        case delete(Int, name: Int)
        case clear(Int)
        case send(Int)
        /// The next step of an exchange with the file, or the first step of a new one.
        case step(Int)
        case fail(Int)
        case crash(Int)
        case restart(Int)
        case advance(Double)
        /// The clock of a process is set.
        case setClock(Int, Double)
        /// The file is deleted, or is damaged and moved aside.
        case remove

        var description: String {
            switch self {
            case .set(let process, let name, let lifetime): "process \(process) stores cookie \(name), \(lifetime)"
            case .delete(let process, let name): "process \(process) deletes cookie \(name)"
            case .clear(let process): "process \(process) deletes all cookies"
            case .send(let process): "process \(process) sends its cookies"
            case .step(let process): "process \(process) continues its exchange"
            case .fail(let process): "the exchange of process \(process) fails"
            case .crash(let process): "process \(process) crashes"
            case .restart(let process): "process \(process) starts"
            case .advance(let seconds): "the time advances by \(seconds) s"
            case .setClock(let process, let offset): "the clock of process \(process) is \(offset) s fast"
            case .remove: "the file is removed"
            }
        }
    }

    /// The file: its content, and the changes that have reached it.
    struct File {
        var content = CookieJar.Snapshot()
        var known: Set<Int> = []
        /// Distinguishes files of the same name.
        var number = 0
        /// Counts commits, like `PRAGMA data_version`.
        var version = 0
    }

    var processes: [SimulatedCookies] = []
    var file = File()
    /// The process whose transaction is open.
    var writer: Int?
    var history = CookieHistory()
    var now = 1_750_000_000.0
    var violation: String?
    private let weights: Weights
    private var crashes = 3
    private var removals: Int
    private var clockChanges = 4

    /// The weights of one schedule. With equal weights, most schedules would be similar.
    private struct Weights {
        let set, delete, clear, step, fail, crash, advance: Int

        init(random: inout SeededRandom) {
            func choose(_ choices: [Int], _ random: inout SeededRandom) -> Int {
                choices.randomElement(using: &random) ?? 1
            }
            set = choose([1, 2], &random)
            delete = choose([0, 1, 2], &random)
            clear = choose([0, 0, 1], &random)
            step = choose([2, 5, 12], &random)
            fail = choose([0, 0, 1], &random)
            crash = choose([0, 1], &random)
            advance = choose([0, 1], &random)
        }
    }

    init(random: inout SeededRandom) {
        weights = Weights(random: &random)
        history.clocksAgree = Bool.random(using: &random)
        removals = Int.random(in: 0..<8, using: &random) == 0 ? 1 : 0
        let keepsSession = Int.random(in: 0..<3, using: &random)
        for index in 0..<Int.random(in: 2...3, using: &random) {
            let keeps = keepsSession == 2 ? index == 0 : keepsSession == 1
            var process = SimulatedCookies(index, keepsSession: keeps)
            if !history.clocksAgree { process.offset = Double(Int.random(in: -3...3, using: &random)) }
            processes.append(process)
        }
    }

    // MARK: Actions

    var actions: [Action] {
        var actions: [Action] = []
        func add(_ weight: Int, _ action: Action) {
            for _ in 0..<weight { actions.append(action) }
        }
        for process in processes {
            let index = process.index
            guard process.isRunning else {
                actions.append(.restart(index))
                continue
            }
            if canStep(process) { add(weights.step, .step(index)) }
            if process.isExchanging { add(weights.fail, .fail(index)) }
            if crashes > 0 { add(weights.crash, .crash(index)) }
            guard process.isLoaded else { continue }
            let name = (history.changes.count + index) % SimulatedCookies.names.count
            add(weights.set, .set(index, name: name, .withLifetime))
            add(weights.set, .set(index, name: (name + 1) % SimulatedCookies.names.count, lifetime))
            if process.has(name) { add(weights.delete, .delete(index, name: name)) }
            add(weights.clear, .clear(index))
            actions.append(.send(index))
            if !history.clocksAgree, clockChanges > 0 { actions.append(.setClock(index, -process.offset)) }
        }
        add(weights.advance, .advance(3))
        if removals > 0, writer == nil { actions.append(.remove) }
        return actions
    }

    private var lifetime: SimulatedCookies.Lifetime {
        switch history.changes.count % 4 {
        case 0: .session
        case 1: .short
        default: .withLifetime
        }
    }

    private func canStep(_ process: SimulatedCookies) -> Bool {
        switch process.state {
        case .idle: process.hasWork(file)
        case .waiting: writer == nil
        case .writing, .committed: true
        }
    }

    mutating func perform(_ action: Action, random: inout SeededRandom) {
        // Each action has a different time.
        now += 0.001
        let (now, count) = (now, history.changes.count)
        switch action {
        case .set(let index, let name, let lifetime):
            change(index) { $0.set(name, lifetime, value: count, at: now) }
        case .delete(let index, let name): change(index) { $0.delete(name, at: now) }
        case .clear(let index): change(index) { $0.clear(at: now) }
        case .send(let index): processes[index].send(at: now)
        case .step(let index): step(index)
        case .fail(let index):
            if writer == index { writer = nil }
            processes[index].fail(reading: file, at: now)
        case .crash(let index):
            crashes -= 1
            if writer == index { writer = nil }
            processes[index].isRunning = false
            history.ended(processes[index].privateChanges)
        case .restart(let index):
            let old = processes[index]
            processes[index] = SimulatedCookies(index, keepsSession: old.keepsSession, offset: old.offset)
        case .advance(let seconds): self.now += seconds
        case .setClock(let index, let offset):
            clockChanges -= 1
            processes[index].offset = offset
        case .remove:
            removals -= 1
            file = File(number: file.number + 1)
            // Changes that were only in the file are lost.
            history.removed()
        }
        check()
    }

    private mutating func change(_ index: Int, _ body: (inout SimulatedCookies) -> CookieHistory.Change?) {
        guard var change = body(&processes[index]) else { return }
        change.at = now
        change.knows = processes[index].known
        processes[index].known.insert(history.changes.count)
        if change.isPrivate { processes[index].privateChanges.insert(history.changes.count) }
        history.changes.append(change)
    }

    private mutating func step(_ index: Int) {
        switch processes[index].state {
        case .idle: processes[index].begin()
        case .waiting:
            writer = index
            processes[index].write(over: file, at: now)
        case .writing:
            processes[index].commit(to: &file)
            writer = nil
        case .committed: processes[index].take(at: now)
        }
    }

    // MARK: Invariants

    private mutating func check() {
        guard violation == nil else { return }
        for process in processes where process.isRunning && process.isLoaded {
            let holder = CookieHistory.Holder.process(process.index, keepsSession: process.keepsSession)
            note(history.violation(process.jar.snapshot(), process.known, holder, now), "process \(process.index)")
            let isCurrent = process.file == file.number && !process.isExchanging
            if isCurrent, process.isSaved, !process.known.subtracting(process.privateChanges).isSubset(of: file.known) {
                note("treats a change as saved, but the file does not have it", "process \(process.index)")
            }
            // Session cookies that are not saved need not reach other processes.
            let hasNews = file.known.contains { !process.known.contains($0) && !history.changes[$0].isPrivate }
            if isCurrent, !process.hasWork(file), hasNews {
                note("does not detect the new changes in the file", "process \(process.index)")
            }
        }
        note(history.violation(file.content, file.known, .file, now), "the file")
    }

    private mutating func note(_ problem: String?, _ holder: String) {
        if let problem { violation = violation ?? "\(holder) \(problem)" }
    }

    /// After the last change, all jars must become equal.
    var violationAtEnd: String? {
        var copy = self
        for index in copy.processes.indices where !copy.processes[index].isRunning {
            let old = copy.processes[index]
            copy.processes[index] = SimulatedCookies(index, keepsSession: old.keepsSession, offset: old.offset)
        }
        if let writer = copy.writer { while copy.processes[writer].state != .idle { copy.step(writer) } }
        for _ in 0..<40 {
            for index in copy.processes.indices where copy.canStep(copy.processes[index]) {
                repeat { copy.step(index) } while copy.processes[index].state != .idle
            }
        }
        copy.check()
        if let violation = copy.violation { return "at the end " + violation }
        for process in copy.processes {
            if process.hasWork(copy.file) { return "process \(process.index) never stops exchanging" }
            if !process.known.subtracting(process.privateChanges).isSubset(of: copy.file.known) {
                return "a change of process \(process.index) is lost"
            }
            let difference = copy.history.difference(process.jar.snapshot(), copy.file.content, copy.now)
            if let difference { return "process \(process.index) and the file differ: \(difference)" }
        }
        return nil
    }
}
