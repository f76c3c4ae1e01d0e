import Foundation
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import NightjarStorage

/// Processes that are killed at random times, forked, limited or denied access, and workers that share a journal.
@Suite(.serialized) struct JournalFaultTests {
    private let folder: TemporaryDirectory
    private let worker = TokenStoreWorkers.path(of: "JournalWorker")
    private var path: String { folder.file("journal.db") }
    private var effects: String { folder.file("effects") }

    init() throws { folder = try TemporaryDirectory() }

    @Test func leaseEndsWithItsProcess() throws {
        let journal = Journal(path: path)
        _ = try journal.add(newEntry("held"))
        let workers = TokenStoreWorkers(worker)
        let process = try workers.start(["hold", path], output: folder.file("output"))
        let fence = try #require(Int64(try TokenStoreWorkers.line(of: folder.file("output"))))
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        #expect(try journal.take(id: "held", for: .seconds(10)) == nil)
        workers.end(process)
        let lease = try #require(try journal.take(kind: "upload", for: .seconds(10)))
        #expect(lease.isAdopted && lease.fence > fence)
    }

    // MARK: Several workers

    /// The number of entries of the tests with several workers. A long run sets `JOURNAL_ENTRIES=5000`.
    private static let entries = ProcessInfo.processInfo.environment["JOURNAL_ENTRIES"].flatMap { Int($0) } ?? 600

    /// Four processes work on the entries of one journal. Their leases expire during pauses, and every few milliseconds
    /// one of them is killed. Each effect happens once, or the entry is in doubt.
    @Test func killedProcessesPerformEachEffectOnce() throws {
        var random = SeededRandom(seed: 11)
        let journal = Journal(path: path)
        for number in 0..<Self.entries {
            let kind = number % 2 == 0 ? "checked" : "blind"
            _ = try journal.add(newEntry("\(number)", kind, key: number % 3 == 0 ? "key-\(number % 4)" : nil))
        }
        let workers = TokenStoreWorkers(worker)
        var outputs: [String] = []
        func start() throws -> ChildProcess {
            outputs.append(folder.file("output-\(outputs.count)"))
            return try workers.start(["loop", path, effects, "\(outputs.count)"], output: outputs[outputs.count - 1])
        }
        func isLeft() throws -> Bool {
            // An entry in doubt blocks the later entries of its key.
            for entry in try journal.entries(phase: .inDoubt, limit: 1000) where entry.orderKey != nil {
                try journal.resolve(entry.id, as: .failed)
            }
            return try !journal.entries(phase: .pending).isEmpty || !journal.entries(phase: .running).isEmpty
        }
        var processes = try (0..<4).map { _ in try (start(), outputs[outputs.count - 1]) }
        var rounds = 0
        let end = ContinuousClock.now + .seconds(240)
        while try isLeft(), ContinuousClock.now < end {
            usleep(UInt32.random(in: 1_000...60_000, using: &random))
            rounds += 1
            let index = Int.random(in: 0..<4, using: &random)
            let (process, output) = processes[index]
            // A process ends by itself only after it has found no work.
            let isKilled = workers.end(process)
            #expect(isKilled || linesOfFile(output).last == "drained", "\(linesOfFile(output).last ?? "no output")")
            processes[index] = try (start(), outputs[outputs.count - 1])
        }
        for (process, _) in processes { workers.end(process) }
        #expect(try !isLeft(), "\(rounds) rounds")
        let reports = outputs.flatMap { linesOfFile($0) }
        #expect(reports.allSatisfy { !$0.hasPrefix("failed") }, "\(reports.filter { $0.hasPrefix("failed") })")
        try checkEffects(journal)
        try checkAcceptedWrites(reports)
    }

    /// Eight threads with three journal objects of one file.
    @Test func threadsPerformEachEffectOnce() async throws {
        let journals = (0..<3).map { _ in Journal(path: path) }
        for number in 0..<Self.entries { _ = try journals[0].add(newEntry("\(number)", "checked")) }
        let performed = PerformedEffects()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                let journal = journals[thread % 3]
                group.addTask { try await onOwnThread { try performed.workAll(journal) } }
            }
            try await group.waitForAll()
        }
        let counts = performed.counts.withLock { $0 }
        #expect(counts.count == Self.entries && counts.values.allSatisfy { $0 == 1 })
        #expect(try journals[0].entries(phase: .done, limit: 1000).count == min(Self.entries, 1000))
    }

    private func checkEffects(_ journal: Journal) throws {
        let performed = linesOfFile(effects)
        let counts = Dictionary(performed.map { ($0, 1) }, uniquingKeysWith: +)
        #expect(counts.values.allSatisfy { $0 == 1 }, "\(counts.filter { $1 > 1 })")
        var last: Int64 = 0
        var count = 0
        while case let page = try journal.entries(after: last, limit: 1000), let end = page.last {
            for entry in page {
                let effects = ["a", "b"].map { counts["\(entry.id)-\($0)"] ?? 0 }
                // Entries in doubt are failed if they had an order key.
                let mayLack = entry.kind == "blind" && (entry.phase == .inDoubt || entry.phase == .failed)
                #expect(entry.phase == .done ? effects == [1, 1] : mayLack, "\(entry.id) \(entry.phase) \(effects)")
            }
            count += page.count
            last = end.number
        }
        #expect(count == Self.entries)
    }

    /// The state of an entry counts its accepted writes. If a write of a lost lease were accepted, two workers would
    /// report the same number.
    private func checkAcceptedWrites(_ reports: [String]) throws {
        let accepted = reports.filter { $0.hasPrefix("accepted ") }
        #expect(accepted.count > Self.entries * 2)
        #expect(Set(accepted).count == accepted.count)
        let fences = reports.filter { $0.hasPrefix("taken ") }.compactMap { $0.split(separator: " ").last }
        #expect(Set(fences).count == fences.count)
        #expect(reports.contains { $0.hasPrefix("lost ") })
    }

    // MARK: Fork

    /// A process forks while it has a lease. The child can use no journal, and the parent keeps its lease.
    @Test func forkedChildCannotUseTheJournal() throws {
        let journal = Journal(path: path)
        _ = try journal.add(newEntry("held"))
        let workers = TokenStoreWorkers(worker)
        let process = try workers.start(["fork", path], output: folder.file("output"))
        let words = try TokenStoreWorkers.line(of: folder.file("output")).split(separator: " ")
        try #require(words.count == 3, "\(words)")
        #expect(words[2] == "forked,forked,forked,forked,forked")
        let child = pid_t(words[1]) ?? 0
        try eventually("the child ended") { kill(child, 0) != 0 || !isRunning(child) }
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        workers.end(process)
        #expect(try journal.take(kind: "upload", for: .seconds(10)) != nil)
    }

    /// The parent has closed its journal, so that SQLite has no record of the file.
    @Test func childOfAProcessWithoutAnOpenJournalCanUseIt() throws {
        _ = try Journal(path: path).add(newEntry("held"))
        let result = try NightjarTestSupport.run(worker, ["closed", path])
        #expect(result.status == 0 && result.text == "child forked,none\nparent none\n", "\(result.text)")
    }

    /// The lock of the journal was held when the process forked, and no thread of the child releases it.
    @Test func forkedChildClosesAJournalInUse() throws {
        let result = try NightjarTestSupport.run(worker, ["in-use", path])
        #expect(result.status == 0 && result.text == "child closed\nparent none\n", "\(result.text)")
    }

    /// False for a process that has ended and was not waited for.
    private func isRunning(_ process: pid_t) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return !status.isEmpty && !status.contains(") Z ")
    }

    // MARK: Full disks and permissions

    /// A file size limit makes writes fail like a full disk, at a different position for each argument.
    @Test(arguments: ["1000", "5000", "20000", "40000", "70000", "150000", "300000"])
    func fullDiskIsAnErrorAndKeepsTheEntries(_ limit: String) throws {
        let result = try NightjarTestSupport.run(worker, ["limited", path, limit])
        #expect(result.status == 1, "\(result.text)")
        try checkAdded(result.text)
    }

    /// Uses a small file system that becomes full. Does nothing if the file system cannot be mounted.
    @Test(arguments: [40, 200, 500, 1000]) func smallDiskIsAnErrorAndKeepsTheEntries(_ kilobytes: Int) throws {
        let (disk, copy) = (folder.file("disk"), folder.file("copy"))
        for name in [disk, copy] { mkdir(name, 0o700) }
        let script = """
            mount -t tmpfs -o size=\(kilobytes)k,mode=700 tmpfs '\(disk)' || exit 77
            '\(worker)' limited '\(disk)/journal.db' none; status=$?
            cp -p '\(disk)'/journal.db* '\(copy)'; exit $status
            """
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: "/usr/bin/unshare") else { return }
        let result = try NightjarTestSupport.run("/usr/bin/unshare", ["-m", "sh", "-c", script])
        guard result.status != 77, result.status != 1 || !result.errors.contains("unshare") else { return }
        #expect(result.status == 1, "\(result.text) \(result.errors)")
        for name in ["journal.db", "journal.db-wal"] { _ = rename("\(copy)/\(name)", folder.file(name)) }
        try checkAdded(result.text)
    }

    private func checkAdded(_ output: String) throws {
        let lines = output.split(separator: "\n")
        let last = try #require(lines.last)
        #expect(last.hasPrefix("failed: ") && last.contains("free some disk space"), "\(last)")
        let journal = Journal(path: path)
        let entries = try journal.entries(limit: 1000)
        #expect(entries.map(\.id) == (0..<lines.count - 1).map(String.init))
        #expect(entries.allSatisfy { $0.state.count == 5000 })
        // The journal continues when there is space again.
        _ = try journal.add(newEntry("next"))
        #expect(journal.takeNotes().isEmpty)
    }

    @Test func readOnlyFolderIsAnError() throws {
        let place = folder.file("read-only")
        let path = place + "/journal.db"
        let journal = Journal(path: path)
        _ = try journal.add(newEntry("a"))
        journal.close()
        if geteuid() == 0 {
            for name in [place, path, path + ".lock"] { chown(name, 65534, 65534) }
            chmod(folder.path, 0o755)
        }
        chmod(place, 0o555)
        defer { chmod(place, 0o700) }
        let result = try NightjarTestSupport.run(worker, ["limited", path, "nobody"])
        #expect(result.status == 1)
        #expect(result.text.hasPrefix("failed: the journal \"\(path)"), "\(result.text)")
        let missing = try NightjarTestSupport.run(worker, ["limited", place + "/new/journal.db", "nobody"])
        #expect(missing.status == 1 && missing.text.hasPrefix("failed: the journal \"\(place)"), "\(missing.text)")
    }
}

/// The effects of threads.
private final class PerformedEffects: Sendable {
    let counts = Mutex<[String: Int]>([:])

    /// Takes entries until none is left.
    func workAll(_ journal: Journal) throws {
        while let lease = try journal.take(kind: "checked", for: .seconds(600)) {
            guard case .perform(let intent) = try journal.recordIntent("post", lease) else {
                throw ToolFailure(description: "the intent of \(lease.id) is not new")
            }
            counts.withLock { $0[lease.id, default: 0] += 1 }
            try journal.recordResult([], of: intent.number, lease)
            try journal.finish(lease, as: .done)
        }
    }
}
