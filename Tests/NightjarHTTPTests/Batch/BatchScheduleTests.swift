import NightjarHTTP
import Testing

@Suite struct BatchScheduleTests {
    /// Wraps the schedule in a class, because `#expect` cannot call mutating methods of a struct.
    private final class Conversation {
        var batch: BatchSchedule

        init(_ batch: BatchSchedule) { self.batch = batch }

        func next() -> BatchSchedule.Step { batch.next() }
        func ended(_ index: Int, failed: Bool) -> Bool { batch.ended(index, failed: failed) }
        func cancel() -> Bool { batch.cancel() }
        var isClosing: Bool { batch.isClosing }
        var wasCancelled: Bool { batch.wasCancelled }
        var decisive: Int? { batch.decisive }
        var unstarted: Range<Int> { batch.unstarted }
    }

    private func schedule(
        _ count: Int, _ concurrency: Int, stopsAtFailure: Bool = true
    ) throws -> Conversation {
        Conversation(try BatchSchedule(count: count, concurrency: concurrency, stopsAtFailure: stopsAtFailure))
    }

    @Test func concurrencyIsLimited() throws {
        let batch = try schedule(4, 2)
        #expect(batch.next() == .start(0))
        #expect(batch.next() == .start(1))
        #expect(batch.next() == .wait)
        #expect(!batch.ended(1, failed: false))
        #expect(batch.next() == .start(2))
        #expect(batch.next() == .wait)
        #expect(!batch.ended(2, failed: false))
        #expect(batch.next() == .start(3))
        #expect(!batch.ended(0, failed: false))
        #expect(batch.next() == .wait)
        #expect(!batch.ended(3, failed: false))
        #expect(batch.next() == .finish)
        #expect(batch.next() == .wait)
        #expect(batch.unstarted.isEmpty)
        #expect(batch.decisive == nil)
    }

    @Test func firstFailureCancelsTheRestOnce() throws {
        let batch = try schedule(10, 3)
        for index in 0..<3 { #expect(batch.next() == .start(index)) }
        #expect(batch.ended(1, failed: true))
        #expect(batch.isClosing)
        #expect(batch.next() == .wait)
        // A cancelled call also counts as failed, and has no effect on the result.
        #expect(!batch.ended(0, failed: true))
        #expect(batch.next() == .wait)
        #expect(!batch.ended(2, failed: true))
        #expect(batch.next() == .finish)
        #expect(batch.decisive == 1)
        #expect(batch.unstarted == 3..<10)
    }

    @Test func collectedFailuresDoNotCancelOtherRequests() throws {
        let batch = try schedule(2, 1, stopsAtFailure: false)
        #expect(batch.next() == .start(0))
        #expect(!batch.ended(0, failed: true))
        #expect(batch.next() == .start(1))
        #expect(!batch.ended(1, failed: true))
        #expect(batch.next() == .finish)
        #expect(batch.decisive == nil)
    }

    @Test func cancellationStartsNothingAndWaitsForRequestsInFlight() throws {
        let batch = try schedule(3, 1, stopsAtFailure: false)
        #expect(batch.next() == .start(0))
        #expect(batch.cancel())
        #expect(!batch.cancel())
        #expect(batch.next() == .wait)
        #expect(!batch.ended(0, failed: false))
        #expect(batch.next() == .finish)
        #expect(batch.wasCancelled)
        #expect(batch.unstarted == 1..<3)
    }

    @Test func cancellationBeforeTheStartStartsNothing() throws {
        let batch = try schedule(3, 1)
        #expect(batch.cancel())
        #expect(batch.next() == .finish)
        #expect(batch.unstarted == 0..<3)
    }

    @Test func cancellationAfterTheEndIsIgnored() throws {
        let batch = try schedule(1, 1)
        #expect(batch.next() == .start(0))
        #expect(!batch.ended(0, failed: false))
        #expect(batch.next() == .finish)
        #expect(!batch.cancel())
        #expect(!batch.wasCancelled)
    }

    @Test func emptyBatchEndsImmediately() throws {
        let batch = try schedule(0, 6)
        #expect(batch.next() == .finish)
        #expect(batch.next() == .wait)
    }

    @Test func endOfAnUnstartedRequestIsIgnored() throws {
        let batch = try schedule(1, 1)
        #expect(!batch.ended(0, failed: true))
        #expect(batch.next() == .start(0))
    }

    @Test(arguments: [0, -1]) func concurrencyBelowOneIsRejected(concurrency: Int) {
        let error = #expect(throws: NightjarError.self) { _ = try self.schedule(1, concurrency) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == "the concurrency of a batch must be 1 or more, got \(concurrency)")
    }
}
