import Foundation
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// The functions of an outbox: entries whose only effect is one request.
@Suite struct JournalOutboxTests {
    private let example: JournalExample

    init() throws { example = try JournalExample() }

    private func take(_ journal: Journal, _ limit: Int = 10) throws -> [JournalLease] {
        try journal.takeToSend(kind: "outbox", for: .seconds(60), limit: limit)
    }

    private func release(_ journal: Journal, _ lease: JournalLease, after delay: Duration?, isUnresolved: Bool = false)
        throws
    {
        try journal.releaseUnsent(lease, after: delay, state: bytes("state"), isUnresolved: isUnresolved)
    }

    @Test func entriesOfOneKeyAreTakenInTheirOrder() throws {
        let journal = example.open()
        for (id, key) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a"), ("c", nil)] {
            try journal.add(newEntry(id, "outbox", key: key))
        }
        let first = try take(journal)
        #expect(first.map(\.id) == ["a1", "b1", "c"])
        #expect(try take(journal).isEmpty)
        try journal.finishSent(first[0], result: bytes("response"))
        #expect(try take(journal).map(\.id) == ["a2"])
        #expect(try journal.entry("a1")?.result == bytes("response"))
        #expect(try journal.intents("a1").isEmpty)
    }

    @Test func parkedEntryBlocksItsKeyOnly() throws {
        let journal = example.open()
        for (id, key) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b")] {
            try journal.add(newEntry(id, "outbox", key: key))
        }
        let leases = try take(journal)
        try release(journal, leases[0], after: nil)
        try journal.finishSent(leases[1], result: [])
        #expect(try take(journal).map(\.id) == ["b2"])
        let parked = try #require(try journal.entry("a1"))
        #expect(parked.phase == .pending && parked.isPaused && parked.state == bytes("state"))
        try journal.continueParked("a1") { _ in bytes("revised") }
        let again = try take(journal)
        #expect(again.map(\.id) == ["a1"])
        #expect(again[0].entry.state == bytes("revised") && again[0].entry.attempts == 1)
        #expect(throws: JournalError.self) { try journal.continueParked("a1") { $0.state } }
        // A removed entry no longer blocks its key.
        try release(journal, again[0], after: nil)
        try journal.remove("a1")
        #expect(try take(journal).map(\.id) == ["a2"])
    }

    @Test func endOfAWaitMakesAPendingEntryDue() throws {
        let journal = example.open()
        try journal.add(newEntry("a", "outbox"))
        let lease = try #require(try take(journal).first)
        // A worker has the entry.
        try journal.endWait("a")
        try release(journal, lease, after: .seconds(3600), isUnresolved: true)
        #expect(try take(journal).isEmpty)
        try journal.endWait("a")
        let again = try #require(try take(journal).first)
        #expect(again.unresolvedIntents.count == 1 && again.entry.attempts == 2)
        try release(journal, again, after: nil)
        #expect(throws: JournalError.self) { try journal.endWait("a") }
        #expect(throws: JournalError.self) { try journal.endWait("none") }
    }

    @Test func intentIsKeptUntilTheOutcomeIsKnown() throws {
        let journal = example.open()
        try journal.add(newEntry("a", "outbox"))
        var lease = try #require(try take(journal).first)
        #expect(lease.unresolvedIntents.isEmpty)
        #expect(try journal.intents("a").map(\.name) == ["send"])
        try release(journal, lease, after: .zero, isUnresolved: true)
        lease = try #require(try take(journal).first)
        #expect(lease.unresolvedIntents.count == 1)
        try release(journal, lease, after: .zero)
        lease = try #require(try take(journal).first)
        #expect(lease.unresolvedIntents.isEmpty)
        // The process ends: another one adopts the entry at once.
        journal.close()
        let other = example.open()
        let adopted = try #require(try take(other).first)
        #expect(adopted.unresolvedIntents.count == 1 && adopted.isAdopted)
        #expect(throws: JournalError.self) { try journal.finishSent(lease, result: []) }
    }

    @Test func retriesWaitAndMayBeUncounted() throws {
        let journal = example.open()
        try journal.add(newEntry("a", "outbox"))
        var lease = try #require(try take(journal).first)
        try release(journal, lease, after: .seconds(3))
        #expect(try take(journal).isEmpty)
        #expect(try journal.nextDue(kind: "outbox") == .seconds(3))
        example.time.pass(.seconds(3))
        lease = try #require(try take(journal).first)
        #expect(lease.entry.attempts == 2)
        try journal.releaseUnsent(lease, after: .zero, state: [], isUnresolved: false, countsAttempt: false)
        #expect(try journal.entry("a")?.attempts == 1)
    }

    @Test func limitsOfTheJournalAndQuotasAreIndependent() throws {
        var options = JournalOptions()
        options.limits.maximumEntries = 1
        let journal = example.open(options)
        let quota = JournalQuota(entries: 2, bytes: 1 << 20)
        try journal.add(newEntry("a", Journal.outboxKind + "default"), within: quota)
        try journal.add(newEntry("b", "transfer"))
        try journal.add(newEntry("c", Journal.outboxKind + "default"), within: quota)
        #expect(throws: JournalError.self) { try journal.add(newEntry("d", "transfer")) }
        #expect(throws: JournalError.self) {
            try journal.add(newEntry("e", Journal.outboxKind + "default"), within: quota)
        }
    }

    @Test func quotaCountsTheEntriesThatAreNotDone() throws {
        let journal = example.open()
        let quota = JournalQuota(entries: 2, bytes: 1 << 20)
        try journal.add(newEntry("a", "outbox"), within: quota)
        try journal.add(newEntry("b", "outbox"), within: quota)
        try journal.add(newEntry("other"))
        let error = #expect(throws: JournalError.self) { try journal.add(newEntry("c", "outbox"), within: quota) }
        #expect(error?.message.contains("max_entries is 2") == true)
        // An existing entry is returned.
        try journal.add(newEntry("b", "outbox"), within: quota)
        try journal.finishSent(try #require(try take(journal, 1).first), result: [])
        try journal.add(newEntry("c", "outbox"), within: quota)
        let small = JournalQuota(entries: 10, bytes: 2000)
        let full = #expect(throws: JournalError.self) {
            try journal.add(newEntry("d", "outbox", input: String(repeating: "x", count: 1000)), within: small)
        }
        #expect(full?.message.contains("max_bytes is 2000") == true)
        #expect(try journal.pending(kind: "outbox").entries == 2)
    }

    @Test func entriesThatAreDoneAreRemovedByAgeAndCount() throws {
        let journal = example.open()
        for id in ["a", "b", "c", "d"] { try journal.add(newEntry(id, "outbox")) }
        for lease in try take(journal, 3) {
            try journal.finishSent(lease, result: [])
            example.time.pass(.seconds(10))
        }
        try journal.removeDone(kind: "outbox", olderThan: .seconds(3600), keeping: 2)
        #expect(try journal.entries(kind: "outbox").map(\.id) == ["b", "c", "d"])
        try journal.removeDone(kind: "other", olderThan: .zero, keeping: 0)
        try journal.removeDone(kind: "outbox", olderThan: .seconds(15), keeping: 2)
        #expect(try journal.entries(kind: "outbox").map(\.id) == ["c", "d"])
        // Entries that are not done are kept.
        example.time.pass(.seconds(3600))
        try journal.removeDone(kind: "outbox", olderThan: .zero, keeping: 0)
        #expect(try journal.entries(kind: "outbox").map(\.id) == ["d"])
    }
}
