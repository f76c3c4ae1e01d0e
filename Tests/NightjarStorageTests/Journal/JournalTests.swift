import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// Conversations of callers and workers with one file.
@Suite struct JournalTests {
    private let example: JournalExample
    private let journal: Journal

    init() throws {
        example = try JournalExample()
        journal = example.open()
    }

    // MARK: Entries

    @Test func addedEntryIsFoundWithItsValues() throws {
        var new = newEntry("é/1", key: "article-7")
        new.state = bytes("start")
        new.credential = "work"
        let added = try journal.add(new)
        #expect(try example.open().entry("é/1") == added)
        #expect(added.id == "é/1" && added.kind == "upload" && added.input == bytes("input"))
        #expect(added.state == bytes("start") && added.result == nil && added.orderKey == "article-7")
        #expect(added.credential == "work" && added.phase == .pending && added.attempts == 0)
        #expect(added.created?.description == "2026-01-01T00:00:00Z" && added.due == added.created)
        #expect(try journal.entry("e\u{301}/1") == nil)
    }

    @Test func sameIdentityReturnsTheEntry() throws {
        let first = try journal.add(newEntry("a"))
        #expect(try journal.add(newEntry("a")) == first)
        let other = journalError { _ = try journal.add(newEntry("a", input: "other")) }
        #expect(other?.name == "conflict" && other?.message.contains("\"a\" with another input") == true)
        let kind = journalError { _ = try journal.add(newEntry("a", "download")) }
        #expect(kind?.name == "conflict" && kind?.message.contains("the kind \"upload\"") == true)
        // Finished work is not repeated.
        try journal.finish(journal.taken("a"), as: .done, result: bytes("r"))
        let again = try journal.add(newEntry("a"))
        #expect(again.phase == .done && again.result == bytes("r"))
    }

    @Test func entriesAreListedInPages() throws {
        for number in 0..<25 { _ = try journal.add(newEntry("\(number)", number % 2 == 0 ? "even" : "odd")) }
        try journal.cancel("4")
        var found: [String] = []
        var last: Int64 = 0
        while case let page = try journal.entries(kind: "even", after: last, limit: 5), let end = page.last {
            found += page.map(\.id)
            last = end.number
        }
        #expect(found == stride(from: 0, to: 25, by: 2).map(String.init))
        #expect(try journal.entries(phase: .cancelled).map(\.id) == ["4"])
        #expect(try journal.entries(limit: 1000).count == 25)
    }

    // MARK: Leases

    @Test func entryIsTakenOnceAndInTheOrderOfItsTime() throws {
        var late = newEntry("late")
        late.delay = .seconds(10)
        _ = try journal.add(late)
        for id in ["a", "b"] {
            _ = try journal.add(newEntry(id))
            example.time.pass(.seconds(1))
        }
        let other = example.open()
        let first = try #require(try journal.take(kind: "upload", for: .seconds(30)))
        let second = try #require(try other.take(kind: "upload", for: .seconds(30)))
        #expect(first.id == "a" && second.id == "b" && second.fence == first.fence + 1)
        #expect(first.entry.phase == .running && first.entry.attempts == 1 && !first.isAdopted)
        #expect(try other.take(kind: "upload", for: .seconds(30)) == nil)
        #expect(try other.take(kind: "download", for: .seconds(30)) == nil)
        #expect(try other.take(id: "a", for: .seconds(30)) == nil)
        #expect(try other.nextDue(kind: "upload") == .seconds(8))
        #expect(try other.nextDue(kind: "download") == nil)
        // A named entry is taken before it is due.
        #expect(try other.taken("late").id == "late")
    }

    @Test func lateWriteIsRejected() throws {
        _ = try journal.add(newEntry("a"))
        let slow = try journal.taken("a", for: .seconds(10))
        let other = example.open()
        example.time.pass(.seconds(9))
        #expect(try other.take(kind: "upload", for: .seconds(10)) == nil)
        example.time.pass(.seconds(1))
        let adopter = try #require(try other.take(kind: "upload", for: .seconds(10)))
        #expect(adopter.isAdopted && adopter.fence > slow.fence && adopter.entry.attempts == 2)
        let writes: [(JournalLease) throws -> Void] = [
            { try self.journal.extend($0) }, { try self.journal.update($0, state: bytes("late")) },
            { _ = try self.journal.recordIntent("e", $0) }, { try self.journal.recordResult([], of: 1, $0) },
            { try self.journal.withdrawIntent(1, $0) }, { try self.journal.release($0) },
            { try self.journal.finish($0, as: .done) },
        ]
        for write in writes {
            let error = journalError { try write(slow) }
            #expect(error?.name == "leaseLost" && error?.message.contains("another worker took the entry") == true)
        }
        #expect(try journal.entry("a")?.state == [])
        try other.finish(adopter, as: .failed)
        for lease in [slow, adopter] {
            let error = journalError { try journal.finish(lease, as: .done) }
            #expect(error?.name == "leaseLost" && error?.message.contains("the entry is failed") == true)
        }
        // An entry that is added again is another entry.
        try journal.acknowledge("a")
        #expect(journalError { try journal.extend(slow) }?.message.contains("the entry was removed") == true)
        _ = try journal.add(newEntry("a"))
        let next = try journal.taken("a")
        #expect(next.fence > adopter.fence && !next.isAdopted)
        #expect(journalError { try other.extend(adopter) }?.name == "leaseLost")
    }

    @Test func writesStartTheDurationAgain() throws {
        _ = try journal.add(newEntry("a"))
        let lease = try journal.taken("a", for: .seconds(10))
        let other = example.open()
        for write in [
            { try journal.extend(lease) }, { try journal.update(lease, state: bytes("1")) },
            { try journal.extend(lease, for: .seconds(100)) },
        ] {
            example.time.pass(.seconds(9))
            _ = try write()
            #expect(try other.take(kind: "upload", for: .seconds(10)) == nil)
        }
        example.time.pass(.seconds(99))
        #expect(try other.take(kind: "upload", for: .seconds(10)) == nil)
        // A lease that has expired is current until another worker takes the entry.
        example.time.pass(.seconds(100))
        try journal.update(lease, state: bytes("2"))
        #expect(try other.take(kind: "upload", for: .seconds(10)) == nil)
    }

    @Test func leasesOfAClosedJournalAreAdopted() throws {
        _ = try journal.add(newEntry("a"))
        let worker = example.open()
        let lease = try worker.taken("a", for: .seconds(3600))
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        #expect(try journal.nextDue(kind: "upload") == .seconds(3600))
        worker.close()
        #expect(try journal.nextDue(kind: "upload") == .zero)
        let adopter = try #require(try journal.take(kind: "upload", for: .seconds(10)))
        #expect(adopter.isAdopted && adopter.id == "a")
        #expect(journalError { try worker.extend(lease) }?.name == "leaseLost")
    }

    @Test func releasedEntryWaitsForItsNextAttempt() throws {
        _ = try journal.add(newEntry("a"))
        try journal.release(journal.taken("a"), after: .seconds(30), state: bytes("half"))
        #expect(try journal.entry("a")?.phase == .pending)
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        #expect(try journal.nextDue(kind: "upload") == .seconds(30))
        example.time.pass(.seconds(30))
        let lease = try #require(try journal.take(kind: "upload", for: .seconds(10)))
        #expect(lease.entry.attempts == 2 && lease.entry.state == bytes("half") && !lease.isAdopted)
        try journal.release(lease, countsAttempt: false)
        #expect(try journal.entry("a")?.attempts == 1)
    }

    @Test func entriesOfOneKeyAreTakenInOrder() throws {
        for id in ["a1", "a2", "a3"] { _ = try journal.add(newEntry(id, key: "a")) }
        _ = try journal.add(newEntry("b1", key: "b"))
        _ = try journal.add(newEntry("other kind", "download", key: "a"))
        let a1 = try #require(try journal.take(kind: "upload", for: .seconds(10)))
        let b1 = try #require(try journal.take(kind: "upload", for: .seconds(10)))
        #expect([a1.id, b1.id] == ["a1", "b1"])
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        #expect(try journal.take(id: "a2", for: .seconds(10)) == nil)
        #expect(try journal.taken("other kind").id == "other kind")
        // A later attempt of the first entry blocks the others.
        try journal.release(a1, after: .seconds(60))
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        try journal.finish(journal.taken("a1"), as: .inDoubt)
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        try journal.resolve("a1", as: .done)
        let a2 = try #require(try journal.take(kind: "upload", for: .seconds(10)))
        #expect(a2.id == "a2")
        try journal.finish(a2, as: .failed)
        #expect(try journal.take(kind: "upload", for: .seconds(10))?.id == "a3")
    }

    /// The caller has decided about the entry, and keeps it only to recognize a repeated call.
    @Test func acknowledgedDoubtDoesNotBlockItsKey() throws {
        var options = JournalOptions()
        options.retention.acknowledgedAge = .seconds(100)
        let journal = example.open(options)
        for id in ["a1", "a2"] { _ = try journal.add(newEntry(id, key: "a")) }
        try journal.finish(journal.taken("a1"), as: .inDoubt)
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        try journal.acknowledge("a1")
        #expect(try journal.phase("a1") == .inDoubt)
        #expect(try journal.taken("a2").id == "a2")
    }

    // MARK: Intents

    @Test func adopterSeesIntentsWithoutResults() throws {
        _ = try journal.add(newEntry("a"))
        let worker = example.open()
        let lease = try worker.taken("a")
        guard case .perform(let first) = try worker.recordIntent("create", key: "k1", payload: bytes("0"), lease),
            case .perform(let second) = try worker.recordIntent("part 1", lease)
        else {
            Issue.record("the intents are not new")
            return
        }
        #expect(first.number == 1 && second.number == 2 && first.key == "k1" && first.payload == bytes("0"))
        try worker.recordResult(bytes("url"), of: first.number, state: bytes("created"), lease)
        #expect(try worker.recordIntent("part 1", lease) == .unresolved(second))
        worker.close()

        let adopter = try journal.taken("a")
        #expect(adopter.isAdopted && adopter.intents.count == 2 && adopter.unresolvedIntents == [second])
        #expect(adopter.entry.state == bytes("created"))
        #expect(try journal.recordIntent("part 1", adopter) == .unresolved(second))
        let done = adopter.intents[0]
        #expect(done.result == bytes("url"))
        #expect(try journal.recordIntent("create", adopter) == .performed(done))
        #expect(try journal.intents("a") == [done, second])
        // The effect may have happened, so the entry can only be in doubt.
        for ending in [JournalEnding.done, .failed, .cancelled] {
            let error = journalError { try journal.finish(adopter, as: ending) }
            #expect(error?.name == "wrongPhase" && error?.message.contains("intents without results") == true)
        }
        try journal.recordResult(bytes("etag"), of: second.number, adopter)
        // The first result of an effect is kept.
        try journal.recordResult(bytes("other"), of: second.number, adopter)
        #expect(try journal.intents("a").map(\.result) == [bytes("url"), bytes("etag")])
        try journal.finish(adopter, as: .done)
    }

    @Test func withdrawnIntentCanBeRecordedAgain() throws {
        _ = try journal.add(newEntry("a"))
        let lease = try journal.taken("a")
        guard case .perform(let intent) = try journal.recordIntent("post", lease) else {
            Issue.record("the intent is not new")
            return
        }
        try journal.withdrawIntent(intent.number, lease)
        guard case .perform(let again) = try journal.recordIntent("post", lease) else {
            Issue.record("the intent is not new")
            return
        }
        try journal.recordResult(bytes("1"), of: again.number, state: bytes("s"), keepsIntent: false, lease)
        #expect(try journal.intents("a").isEmpty)
        #expect(journalError { try journal.recordResult([], of: 9, lease) }?.name == "notFound")
        #expect(journalError { try journal.withdrawIntent(again.number, lease) }?.name == "notFound")
        try journal.finish(lease, as: .done)
        #expect(try journal.entry("a")?.state == bytes("s"))
    }

    @Test func doubtIsDecidedByTheCaller() throws {
        for id in ["repeat", "known", "drop"] {
            _ = try journal.add(newEntry(id))
            let lease = try journal.taken(id)
            _ = try journal.recordIntent("post", lease)
            try journal.finish(lease, as: .inDoubt, result: bytes("timeout"))
            #expect(try journal.entry(id)?.result == bytes("timeout"))
            #expect(journalError { _ = try journal.take(id: id, for: .seconds(1)) }?.name == "wrongPhase")
        }
        #expect(try journal.take(kind: "upload", for: .seconds(1)) == nil)
        try journal.retry("repeat")
        let lease = try journal.taken("repeat")
        #expect(lease.intents.isEmpty && lease.entry.result == nil)
        try journal.resolve("known", as: .done, result: bytes("created"))
        #expect(try journal.entry("known")?.result == bytes("created"))
        try journal.acknowledge("drop")
        #expect(try journal.entry("drop") == nil)
    }
}
