import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// Cancellation, pauses, removal and retention.
@Suite struct JournalControlTests {
    private let example: JournalExample
    private let journal: Journal

    init() throws {
        example = try JournalExample()
        journal = example.open()
    }

    @Test func cancellationOfAPendingEntryIsImmediate() throws {
        _ = try journal.add(newEntry("a"))
        #expect(try journal.cancel("a") == .cancelled)
        #expect(try journal.cancel("a") == .cancelled)
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        try journal.retry("a")
        #expect(try journal.taken("a").entry.isCancelRequested == false)
    }

    @Test func workerSeesCancellationAndPauseInItsNextWrite() throws {
        _ = try journal.add(newEntry("a"))
        let lease = try journal.taken("a")
        #expect(try journal.extend(lease) == JournalSignals(isCancelRequested: false, isPaused: false))
        try example.open().setPaused("a", true)
        #expect(try journal.update(lease, state: []) == JournalSignals(isCancelRequested: false, isPaused: true))
        try journal.release(lease)
        #expect(try journal.take(kind: "upload", for: .seconds(10)) == nil)
        #expect(try journal.take(id: "a", for: .seconds(10)) == nil)
        try journal.setPaused("a", false)
        let again = try journal.taken("a")
        #expect(try journal.cancel("a") == .running)
        #expect(journalError { try journal.setPaused("a", true) }?.name == "wrongPhase")
        #expect(try journal.extend(again) == JournalSignals(isCancelRequested: true, isPaused: false))
        #expect(try journal.entry("a")?.isCancelRequested == true)
        try journal.release(again, after: .seconds(60))
        #expect(try journal.phase("a") == .cancelled)
    }

    /// A worker has to find out whether the effect happened.
    @Test func cancellationWithAnUnresolvedIntentNeedsAWorker() throws {
        _ = try journal.add(newEntry("a"))
        let lease = try journal.taken("a")
        _ = try journal.recordIntent("post", lease)
        try journal.release(lease, after: .seconds(3600))
        #expect(try journal.cancel("a") == .pending)
        let worker = try #require(try journal.take(kind: "upload", for: .seconds(10)))
        #expect(worker.entry.isCancelRequested && worker.unresolvedIntents.count == 1)
        try journal.withdrawIntent(1, worker)
        try journal.release(worker)
        #expect(try journal.phase("a") == .cancelled)
    }

    @Test func removalNeedsTheEndOfTheLease() throws {
        _ = try journal.add(newEntry("a"))
        let lease = try journal.taken("a", for: .seconds(10))
        #expect(journalError { try journal.remove("a") }?.name == "wrongPhase")
        #expect(journalError { try journal.acknowledge("a") }?.name == "wrongPhase")
        example.time.pass(.seconds(10))
        try journal.remove("a")
        #expect(try journal.entry("a") == nil)
        #expect(journalError { try journal.extend(lease) }?.name == "leaseLost")
        try journal.remove("a")
        try journal.acknowledge("a")
        for use in [{ _ = try journal.cancel("a") }, { try journal.setPaused("a", true) }, { try journal.retry("a") }] {
            #expect(journalError(use)?.name == "notFound")
        }
        #expect(try journal.total() == (0, 0))
    }

    @Test func changeNumberChangesWithEachWriteOfAnyProcess() throws {
        let other = example.open()
        var last = try journal.changeNumber()
        for change in [
            { _ = try other.add(newEntry("a")) }, { _ = try other.taken("a") }, { _ = try other.cancel("a") },
        ] {
            try change()
            let number = try journal.changeNumber()
            #expect(number != last)
            last = number
        }
        _ = try other.add(newEntry("a"))
        _ = try other.take(kind: "upload", for: .seconds(1))
        _ = try other.entries()
        #expect(try journal.changeNumber() == last)
    }

    // MARK: Retention

    @Test func acknowledgedEntryIsRemovedAtOnceByDefault() throws {
        _ = try journal.add(newEntry("a"))
        try journal.finish(journal.taken("a"), as: .done)
        example.time.pass(.seconds(365 * 86_400))
        _ = try journal.add(newEntry("b"))
        // Results stay until they are acknowledged.
        #expect(try journal.phase("a") == .done)
        try journal.acknowledge("a")
        #expect(try journal.entry("a") == nil)
    }

    @Test func acknowledgedEntriesAreKeptForTheirAgeNumberAndSize() throws {
        var options = JournalOptions()
        options.retention.acknowledgedAge = .seconds(100)
        options.retention.acknowledgedEntries = 3
        options.retention.acknowledgedBytes = 1 << 20
        let journal = example.open(options)
        for id in ["1", "2", "3", "4", "5"] {
            _ = try journal.add(newEntry(id))
            try journal.finish(journal.taken(id), as: .done)
            try journal.acknowledge(id)
            example.time.pass(.seconds(1))
        }
        #expect(try journal.entries().map(\.id) == ["3", "4", "5"])
        // A caller that adds the entry again does not repeat the work.
        let kept = try journal.add(newEntry("5"))
        #expect(kept.phase == .done && kept.isAcknowledged)
        #expect(journalError { try journal.retry("5") }?.name == "wrongPhase")
        #expect(try journal.total().entries == 0)
        example.time.pass(.seconds(97))
        try journal.applyRetention()
        #expect(try journal.entries().map(\.id) == ["4", "5"])
        options.retention.acknowledgedBytes = 600
        try example.open(options).applyRetention()
        #expect(try journal.entries().map(\.id) == ["5"])
    }

    @Test func unreadResultsAreRemovedOnlyByOptionAndNeverInDoubt() throws {
        for (id, ending) in [("done", JournalEnding.done), ("doubt", .inDoubt)] {
            _ = try journal.add(newEntry(id))
            try journal.finish(journal.taken(id), as: ending)
        }
        _ = try journal.add(newEntry("pending"))
        example.time.pass(.seconds(31 * 86_400))
        try journal.applyRetention()
        #expect(try journal.entries().count == 3)
        var options = JournalOptions()
        options.retention.unacknowledgedAge = .seconds(30 * 86_400)
        try example.open(options).applyRetention()
        #expect(try journal.entries().map(\.id) == ["doubt", "pending"])
    }
}
