import NightjarStorage
import NightjarTestSupport

extension SharedFolder {
    enum Action: CustomStringConvertible {
        case advance(Int64)
        case lock, unlock, rebuild
        case send(Int, key: Int)
        case process(Int, request: Int)
        case receive(Int, request: Int)
        case write(Int, url: Int)
        case processWrite(Int, Int)
        case completeWrite(Int, Int)
        case remove(Int, Scope)
        case lookUp(Int, key: Int)
        case loop(Int)
        case disk(Int)
        case crash(Int)
        case close(Int)

        var description: String {
            switch self {
            case .advance(let milliseconds): "\(milliseconds) ms pass"
            case .lock: "another program locks the index"
            case .unlock: "the lock is released"
            case .rebuild: "the index is rebuilt"
            case .send(let process, let key): "process \(process) sends a GET of key \(key)"
            case .process(let process, let request): "the server responds to request \(request) of process \(process)"
            case .receive(let process, let request): "process \(process) receives the response to request \(request)"
            case .write(let process, let url): "process \(process) sends a PUT to URL \(url)"
            case .processWrite(let process, let write): "the server processes PUT \(write) of process \(process)"
            case .completeWrite(let process, let write): "process \(process) completes PUT \(write)"
            case .remove(let process, let scope): "process \(process) removes \(scope)"
            case .lookUp(let process, let key): "process \(process) looks up key \(key)"
            case .loop(let process): "the loop of process \(process) continues"
            case .disk(let process): "the disk's thread of process \(process) continues"
            case .crash(let process): "process \(process) crashes and starts again"
            case .close(let process): "process \(process) closes its client"
            }
        }
    }

    /// Productive actions are more likely than disturbing ones, so that most schedules make progress.
    var actions: [Action] {
        var actions: [Action] = []
        if isLocked { actions.append(.unlock) } else if step % 4 == 2 { actions.append(.lock) }
        if step % 32 == 21 { actions.append(.rebuild) }
        if !processes.contains(where: \.isBusy) {
            actions += [.advance(120), .advance(450)]
            if step % 4 == 1 { actions += [.advance(1100), .advance(1100)] }
        }
        for (number, process) in processes.enumerated() {
            if !process.disk.isEmpty || !process.jobs.isEmpty {
                actions += [.disk(number), .disk(number), .disk(number), .disk(number)]
            }
            if step % 32 == 11 { actions.append(.crash(number)) }
            actions.append(.lookUp(number, key: step % SharedFolder.keys))
            guard process.loop.isEmpty else {
                actions += [.loop(number), .loop(number), .loop(number)]
                continue
            }
            if step % 32 == 7 || process.closesAt != nil { actions.append(.close(number)) }
            guard process.closesAt == nil else { continue }
            addRequests(number, process, to: &actions)
        }
        return actions
    }

    private func addRequests(_ number: Int, _ process: Process, to actions: inout [Action]) {
        // Requests are sent only after the index was read, so that the moment is known.
        if process.requests.count < 2, process.tier.index != 0 {
            actions.append(.send(number, key: (step / 3) % SharedFolder.keys))
        }
        for (index, request) in process.requests.enumerated() {
            actions.append(request.version == nil ? .process(number, request: index) : .receive(number, request: index))
        }
        if process.writes.isEmpty, step % 3 == 0 { actions.append(.write(number, url: step % 2)) }
        for (index, write) in process.writes.enumerated() {
            actions.append(write.isProcessed ? .completeWrite(number, index) : .processWrite(number, index))
        }
        switch step % 24 {
        case 0: actions.append(.remove(number, .all))
        case 8: actions.append(.remove(number, .partition(step / 24 % 2)))
        case 16: actions.append(.remove(number, .remove(url: step / 24 % 2)))
        default: break
        }
    }

    mutating func perform(_ action: Action, random: inout SeededRandom) {
        step += 1
        switch action {
        case .advance(let milliseconds): now += milliseconds * 1_000_000
        case .lock: isLocked = true
        case .unlock: isLocked = false
        case .rebuild: index = Index(file: index.file + 1)
        case .send(let number, let key): send(number, key)
        case .process(let number, let request):
            let key = processes[number].requests[request].key
            processes[number].requests[request].version = versions[SharedFolder.url(key)]
        case .receive(let number, let request): receive(number, processes[number].requests.remove(at: request))
        case .write(let number, let url): processes[number].writes.append(Write(url: url))
        case .processWrite(let number, let write):
            versions[processes[number].writes[write].url] += 1
            processes[number].writes[write].isProcessed = true
        case .completeWrite(let number, let write):
            change(number, .invalidate(url: processes[number].writes.remove(at: write).url))
        case .remove(let number, let scope): change(number, scope)
        case .lookUp(let number, let key): lookUp(number, key)
        case .loop(let number): takeLoopStep(number)
        case .disk(let number): takeDiskStep(number)
        case .crash(let number): restart(number)
        case .close(let number): close(number)
        }
    }

    // MARK: The loop

    private mutating func send(_ number: Int, _ key: Int) {
        let process = processes[number]
        processes[number].requests.append(
            Request(key: key, moment: process.moment, sent: step, validating: process.memory[key]))
    }

    private mutating func receive(_ number: Int, _ request: Request) {
        let (key, moment) = (request.key, request.moment)
        let before = processes[number].local.verdict(SharedFolder.url(key), since: moment)
        var entry = Entry(id: newID(), version: request.version ?? 0, sent: request.sent, body: 0)
        if let known = request.validating, known.version == request.version {
            entry.body = known.body
            if before != .asIs { entry.isInvalid = true }
            processes[number].loop = [
                .update(key, known, entry), .recheck(key, moment, before), .enqueue(.update(key, known, entry, moment)),
            ]
        } else {
            entry.body = entry.id
            processes[number].loop = [
                .store(key, entry, before), .recheck(key, moment, before), .enqueue(.store(key, entry, moment)),
            ]
        }
    }

    private mutating func change(_ number: Int, _ scope: Scope) {
        let ticket = processes[number].local.note(scope.effect, scope.url, isWritten: false)
        promises.append(Promise(writer: processes[number].writer, ticket: ticket, scope: scope, began: step))
        processes[number].loop = [
            .change(scope), .enqueue(.change(Change(scope: scope, ticket: ticket))), .isDone(ticket),
        ]
    }

    mutating func takeLoopStep(_ number: Int) {
        switch processes[number].loop.removeFirst() {
        case .change(let scope): processes[number].changeMemory(scope)
        case .enqueue(let job): processes[number].jobs.append(job)
        case .isDone(let ticket):
            for index in promises.indices
            where promises[index].writer == processes[number].writer && promises[index].ticket == ticket {
                promises[index].done = step
            }
        case .store(let key, let entry, let verdict): processes[number].store(key, entry, verdict)
        case .update(let key, let known, let entry):
            if processes[number].memory[key] == known { processes[number].memory[key] = entry }
        case .recheck(let key, let moment, let before): processes[number].recheck(key, moment, before)
        }
    }

    /// Looks up a key, as on any thread of the process.
    private mutating func lookUp(_ number: Int, _ key: Int) {
        let lookup = Lookup(key: key, began: step, at: now)
        switch MemoryTier.age(afterNanoseconds: now - processes[number].checked) {
        case .outdated: return processes[number].enqueue(.find(lookup))
        case .due:
            if !processes[number].isChecking {
                processes[number].isChecking = true
                processes[number].jobs.append(.check)
            }
        case .current: break
        }
        guard let entry = processes[number].memory[key], !entry.isInvalid else {
            return processes[number].enqueue(.find(lookup))
        }
        give(entry, lookup, number)
    }

    /// Gives an entry to a caller as fresh, and checks that no completed change forbids this.
    mutating func give(_ entry: Entry, _ lookup: Lookup, _ number: Int) {
        let process = processes[number]
        // A store in memory and the check after it are atomic in this model.
        if process.isBusy { return }
        for promise in promises where promise.scope.concerns(lookup.key) && entry.sent < promise.began {
            if promise.writer == process.writer {
                guard let done = promise.done, done < lookup.began else { continue }
            } else {
                guard let reached = promise.reached, reached + 1_000_000_000 < lookup.at else { continue }
            }
            failureMessage = """
                process \(number) gives a response of key \(lookup.key) requested in step \(entry.sent), \
                before the change \(promise.scope) of step \(promise.began)
                """
        }
    }

    // MARK: Ends

    private mutating func restart(_ number: Int) {
        abandon(number)
        lastWriter += 1
        processes[number] = Process(writer: lastWriter)
    }

    private mutating func abandon(_ number: Int) {
        for index in promises.indices
        where promises[index].writer == processes[number].writer && promises[index].reached == nil {
            promises[index].isAbandoned = true
        }
    }

    /// Closes the client when all pending changes are written, or after the grace period.
    private mutating func close(_ number: Int) {
        guard let end = processes[number].closesAt else {
            processes[number].closesAt = now + 5_000_000_000
            return
        }
        let isIdle = processes[number].jobs.isEmpty && processes[number].disk.isEmpty
        if isIdle { settle(number) }
        guard isIdle && processes[number].pending.isEmpty || now >= end else { return }
        restart(number)
    }
}

extension SharedFolder.Process {
    mutating func changeMemory(_ scope: SharedFolder.Scope) {
        for key in memory.keys where scope.concerns(key) {
            if scope.effect == .removes { memory[key] = nil } else { memory[key]?.isInvalid = true }
        }
    }

    mutating func store(_ key: Int, _ entry: SharedFolder.Entry, _ verdict: StoreVerdict) {
        var entry = entry
        switch verdict {
        case .asIs: break
        case .invalidated:
            if let known = memory[key], !known.isInvalid { return }
            entry.isInvalid = true
        case .refused: return
        }
        memory[key] = entry
    }

    mutating func recheck(_ key: Int, _ moment: CacheMoment, _ before: StoreVerdict) {
        if local.verdict(SharedFolder.url(key), since: moment) > before { memory[key]?.isInvalid = true }
    }

    mutating func enqueue(_ job: SharedFolder.Job) { if jobs.count < 6 { jobs.append(job) } }
}
