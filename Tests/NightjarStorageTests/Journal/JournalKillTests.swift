import Foundation
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// Processes that are killed before and after each write.
@Suite struct JournalKillTests {
    private let folder: TemporaryDirectory
    private let worker = TokenStoreWorkers.path(of: "JournalWorker")

    init() throws { folder = try TemporaryDirectory() }

    /// Compiles the library that kills a process at a chosen file operation.
    private func killLibrary() throws -> String {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Transfers/kill_at.c").path
        let library = folder.file("kill_at.so")
        let result = try NightjarTestSupport.run(
            "cc", ["-std=gnu11", "-O1", "-fPIC", "-shared", source, "-o", library, "-ldl"])
        try #require(result.status == 0, "\(result.errors)")
        return library
    }

    /// A process is killed before or after each file operation of the journal and of its effects. Everything that it has
    /// reported is in the journal, and the next worker takes the entry at once and completes the work.
    @Test(arguments: ["KILL_AT", "KILL_AFTER"], ["checked", "blind"])
    func killedWorkerLosesAndRepeatsNothing(_ variable: String, _ kind: String) async throws {
        try await onOwnThread { try killAtEachOperation(variable, kind) }
    }

    private func killAtEachOperation(_ variable: String, _ kind: String) throws {
        let library = try killLibrary()
        var number = 1
        var doubts = 0
        while true {
            let round = folder.file("round")
            try? FileManager.default.removeItem(atPath: round)
            mkdir(round, 0o700)
            let result = try NightjarTestSupport.run(
                worker, ["work", round + "/journal.db", round + "/effects", kind],
                environment: ["LD_PRELOAD": library, "KILL_FOLDER": round, variable: "\(number)"])
            let comment = "\(variable)=\(number), \(result.text)"
            let phase = try checkAndComplete(round, kind, result.text.split(separator: "\n").map(String.init), comment)
            if phase == .inDoubt { doubts += 1 }
            guard result.status == SIGKILL else {
                #expect(result.status == 0 && result.text.hasSuffix("finished one\n"), "\(comment) \(result.errors)")
                break
            }
            // Workers of both kinds use the journal in the same way until they are killed.
            number += kind == "blind" ? 3 : 1
        }
        #expect(number > 100)
        #expect(kind == "blind" ? doubts > 2 : doubts == 0)
    }

    private func checkAndComplete(
        _ folder: String, _ kind: String, _ reports: [String], _ comment: String
    ) throws -> JournalPhase? {
        let journal = Journal(path: folder + "/journal.db")
        let server = { linesOfFile(folder + "/effects") }
        let found = try journal.entry("one")
        guard let found else {
            #expect(!reports.contains("added one"), "\(comment)")
            return nil
        }
        let intents = try journal.intents("one")
        let states = reports.filter { $0.hasPrefix("accepted one ") }.compactMap { Int($0.dropFirst(13)) }
        #expect(Int(String(decoding: found.state, as: UTF8.self)) ?? 0 >= states.max() ?? 0, "\(comment)")
        for name in ["a", "b"] {
            let intent = intents.first { $0.name == name }
            if reports.contains("intent one-\(name)") || server().contains("one-\(name)") {
                #expect(intent != nil, "\(comment)")
            }
            if reports.contains("result one-\(name)") { #expect(intent?.result == bytes("one-\(name)"), "\(comment)") }
        }
        if reports.contains("finished one") {
            #expect(found.phase == .done && found.result == bytes("result"), "\(comment)")
        }
        // The lease lasts an hour, but its process has ended.
        if !found.phase.isFinished {
            let lease = try #require(try journal.take(kind: kind, for: .seconds(60)), "\(comment)")
            try complete(journal, lease, kind, folder + "/effects")
        }
        let phase = try journal.phase("one")
        let performed = server()
        #expect(Set(performed).count == performed.count, "\(comment): \(performed)")
        #expect(phase == .done ? performed == ["one-a", "one-b"] : phase == .inDoubt, "\(comment): \(performed)")
        #expect(journal.takeNotes().isEmpty, "\(comment)")
        return phase
    }

    /// A process is killed before or after each file operation of an outbox. Each write happens once, in the order of its key,
    /// and everything that the process has reported is in the journal.
    @Test(arguments: ["KILL_AT", "KILL_AFTER"])
    func killedOutboxLosesAndRepeatsNothing(_ variable: String) async throws {
        try await onOwnThread {
            let library = try killLibrary()
            var number = 1
            while true {
                let round = folder.file("outbox")
                try? FileManager.default.removeItem(atPath: round)
                mkdir(round, 0o700)
                let result = try NightjarTestSupport.run(
                    worker, ["outbox", round + "/journal.db", round + "/effects"],
                    environment: ["LD_PRELOAD": library, "KILL_FOLDER": round, variable: "\(number)"])
                let comment = "\(variable)=\(number), \(result.text)"
                let reports = result.text.split(separator: "\n").map(String.init)
                try deliverTheRest(round, reports, comment)
                guard result.status == SIGKILL else {
                    #expect(result.status == 0 && result.text.hasSuffix("delivered\n"), "\(comment) \(result.errors)")
                    break
                }
                number += variable == "KILL_AT" ? 1 : 2
            }
            #expect(number > 100)
        }
    }

    private func deliverTheRest(_ folder: String, _ reports: [String], _ comment: String) throws {
        let journal = Journal(path: folder + "/journal.db")
        let effects = folder + "/effects"
        for id in ["x1", "x2", "y"] {
            guard let found = try journal.entry(id) else {
                #expect(!reports.contains("added \(id)"), "\(comment)")
                continue
            }
            if reports.contains("done \(id)") {
                #expect(found.phase == .done && found.result == bytes("response \(id)"), "\(comment)")
            }
            if linesOfFile(effects).contains(id), found.phase != .done, !found.isPaused, found.state != bytes("revised")
            {
                #expect(try journal.intents(id).count == 1, "\(comment)")
            }
            if found.isPaused {
                #expect(found.state == bytes("parked"), "\(comment)")
                try journal.continueParked(id) { _ in bytes("revised") }
            }
            if reports.contains("lost x1"), id == "x1", found.phase != .done {
                #expect(found.state == bytes("lost"), "\(comment)")
            }
        }
        // The leases last an hour, but their process has ended.
        while let lease = try journal.takeToSend(kind: "outbox", for: .seconds(60), limit: 1).first {
            if !linesOfFile(effects).contains(lease.id) {
                let content = linesOfFile(effects) + [lease.id]
                try Data((content.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: effects))
            }
            try journal.finishSent(lease, result: [])
        }
        let performed = linesOfFile(effects)
        #expect(Set(performed).count == performed.count, "\(comment): \(performed)")
        #expect(
            performed.filter { $0 != "y" } == Array(["x1", "x2"].prefix(performed.filter { $0 != "y" }.count)),
            "\(comment)")
        let entries = try journal.entries(kind: "outbox")
        #expect(
            entries.allSatisfy { $0.phase == .done } && entries.count == performed.count, "\(comment): \(performed)")
        #expect(journal.takeNotes().isEmpty, "\(comment)")
    }

    /// Works like the killed worker, with the decisions of an adopter.
    private func complete(_ journal: Journal, _ lease: JournalLease, _ kind: String, _ effects: String) throws {
        for name in ["a", "b"] {
            let key = "one-\(name)"
            let intent: JournalIntent
            switch try journal.recordIntent(name, key: key, lease) {
            case .performed: continue
            case .perform(let new): intent = new
            case .unresolved(let old):
                guard kind == "checked" else { return try journal.finish(lease, as: .inDoubt) }
                intent = old
            }
            if !linesOfFile(effects).contains(key) {
                let content = linesOfFile(effects) + [key]
                try Data((content.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: effects))
            }
            try journal.recordResult(bytes(key), of: intent.number, lease)
        }
        try journal.finish(lease, as: .done)
    }
}
