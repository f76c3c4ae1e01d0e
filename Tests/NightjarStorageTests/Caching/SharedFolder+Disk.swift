import NightjarStorage
import NightjarTestSupport

// The disk thread of a process.

extension SharedFolder {
    mutating func takeDiskStep(_ number: Int) {
        if processes[number].disk.isEmpty {
            guard !processes[number].jobs.isEmpty else { return }
            switch processes[number].jobs.removeFirst() {
            case .find(let lookup): processes[number].disk = [.readLog, .find(lookup)]
            case .check: processes[number].disk = [.readLog, .checked]
            case .store(let key, let entry, let moment): processes[number].disk = [.writeBody(key, entry, moment)]
            case .update(let key, let known, let entry, let moment):
                processes[number].disk = [.update(key, known, entry, moment)]
            case .change(let change): processes[number].disk = [.add(change), .settle, .wrote(change.ticket)]
            }
            return
        }
        let step = processes[number].disk.removeFirst()
        switch step {
        case .readLog, .noteChanges, .applyChanges, .checked: catchUp(number, step)
        case .find, .promote, .promoteStore, .promoteRecheck, .deliver: find(number, step)
        case .writeBody(let key, let entry, let moment):
            files.insert(entry.body)
            processes[number].disk.insert(.commit(key, entry, moment), at: 0)
        case .commit(let key, let entry, let moment): commit(number, key, entry, moment)
        case .update(let key, let known, var entry, let moment):
            guard settle(number), !isLocked, index.rows[key]?.id == known.id else { return }
            entry.isInvalid = index.verdict(key, since: moment, by: processes[number].writer) != .asIs
            index.rows[key] = entry
        case .add(let change): processes[number].pending.add(change)
        case .settle: settle(number)
        case .wrote(let ticket): processes[number].local.wrote(ticket)
        }
        if processes[number].disk.isEmpty { settle(number) }
    }

    /// Writes the pending changes.
    ///
    /// - Returns: False if changes are still pending, because another process locks the index.
    @discardableResult
    mutating func settle(_ number: Int) -> Bool {
        while let change = processes[number].pending.first {
            guard !isLocked else { return false }
            let writer = processes[number].writer
            index.apply(change, by: writer)
            processes[number].pending.wroteFirst()
            for other in promises.indices
            where promises[other].writer == writer && promises[other].reached == nil
                && (promises[other].ticket == change.ticket
                    || change.scope == .all && promises[other].ticket <= change.ticket)
            {
                promises[other].reached = now
            }
        }
        return true
    }

    private mutating func commit(_ number: Int, _ key: Int, _ entry: Entry, _ moment: CacheMoment) {
        guard settle(number), !isLocked else { return }
        var entry = entry
        switch index.verdict(key, since: moment, by: processes[number].writer) {
        case .asIs: break
        case .invalidated:
            if let known = index.rows[key], !known.isInvalid { return }
            entry.isInvalid = true
        case .refused: return
        }
        index.rows[key] = entry
    }

    private mutating func catchUp(_ number: Int, _ step: DiskStep) {
        switch step {
        case .readLog:
            let log = index.log
            let changes: [Scope]?
            switch processes[number].tier.need(for: log) {
            case .nothing: changes = []
            case .everything: changes = nil
            case .changes(let seen):
                let writer = processes[number].writer
                changes = index.changes.filter { $0.change.number > seen && $0.change.writer != writer }.map(\.scope)
            }
            processes[number].disk.insert(.noteChanges(log, changes, at: now), at: 0)
        case .noteChanges(let log, let changes, let began):
            if let changes {
                for scope in changes { processes[number].local.note(scope.effect, scope.url) }
            } else {
                processes[number].local.note(.removes, nil)
            }
            processes[number].disk.insert(.applyChanges(log, changes, at: began), at: 0)
        case .applyChanges(let log, let changes, let began):
            if let changes {
                for scope in changes { processes[number].changeMemory(scope) }
            } else {
                processes[number].memory = [:]
            }
            processes[number].tier.caughtUp(with: log)
            processes[number].checked = began
        default: processes[number].isChecking = false
        }
    }

    private mutating func find(_ number: Int, _ step: DiskStep) {
        let process = processes[number]
        switch step {
        case .find(let lookup):
            let found = settle(number) ? index.rows[lookup.key] : nil
            let isKnown = found.map { process.memory[lookup.key]?.id == $0.id } ?? true
            // The moment was taken before the rows were read.
            processes[number].disk =
                if let found, !isKnown { [.promote(lookup, found, process.momentInIndex)] } else {
                    [.deliver(lookup, found)]
                }
        case .promote(let lookup, let entry, let moment):
            let verdict = process.local.verdict(SharedFolder.url(lookup.key), since: moment)
            processes[number].disk = [.promoteStore(lookup, entry, moment, verdict)]
        case .promoteStore(let lookup, let entry, let moment, let verdict):
            processes[number].store(lookup.key, entry, verdict)
            processes[number].disk = [.promoteRecheck(lookup, entry, moment, verdict)]
        case .promoteRecheck(let lookup, let entry, let moment, let verdict):
            processes[number].recheck(lookup.key, moment, verdict)
            processes[number].disk = [.deliver(lookup, entry)]
        case .deliver(let lookup, let found):
            // An entry in memory is newer than the entry found on disk.
            if let entry = process.memory[lookup.key] ?? found, !entry.isInvalid { give(entry, lookup, number) }
        default: break
        }
    }
}
