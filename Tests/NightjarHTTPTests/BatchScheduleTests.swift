import NightjarHTTP
import Testing

@Suite struct BatchScheduleTests {
    private func schedule(
        _ count: Int, _ concurrency: Int, stopsAtFailure: Bool = true
    ) throws -> BatchSchedule {
        try BatchSchedule(count: count, concurrency: concurrency, stopsAtFailure: stopsAtFailure)
    }

    @Test func soManyAreUnderWayAndNoMore() throws {
        var batch = try schedule(4, 2)
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

    @Test func theFirstFailureCancelsTheRestOnce() throws {
        var batch = try schedule(10, 3)
        for index in 0..<3 { #expect(batch.next() == .start(index)) }
        #expect(batch.ended(1, failed: true))
        #expect(batch.isClosing)
        #expect(batch.next() == .wait)
        // What was cancelled fails too, and decides nothing.
        #expect(!batch.ended(0, failed: true))
        #expect(batch.next() == .wait)
        #expect(!batch.ended(2, failed: true))
        #expect(batch.next() == .finish)
        #expect(batch.decisive == 1)
        #expect(batch.unstarted == 3..<10)
    }

    @Test func collectedFailuresEndNothing() throws {
        var batch = try schedule(2, 1, stopsAtFailure: false)
        #expect(batch.next() == .start(0))
        #expect(!batch.ended(0, failed: true))
        #expect(batch.next() == .start(1))
        #expect(!batch.ended(1, failed: true))
        #expect(batch.next() == .finish)
        #expect(batch.decisive == nil)
    }

    @Test func aCancelStartsNothingMoreAndWaitsForWhatIsUnderWay() throws {
        var batch = try schedule(3, 1, stopsAtFailure: false)
        #expect(batch.next() == .start(0))
        #expect(batch.cancel())
        #expect(!batch.cancel())
        #expect(batch.next() == .wait)
        #expect(!batch.ended(0, failed: false))
        #expect(batch.next() == .finish)
        #expect(batch.wasCancelled)
        #expect(batch.unstarted == 1..<3)
    }

    @Test func aCancelBeforeTheBeginningLeavesNothingToStart() throws {
        var batch = try schedule(3, 1)
        #expect(batch.cancel())
        #expect(batch.next() == .finish)
        #expect(batch.unstarted == 0..<3)
    }

    @Test func aCancelBehindTheEndIsNothing() throws {
        var batch = try schedule(1, 1)
        #expect(batch.next() == .start(0))
        #expect(!batch.ended(0, failed: false))
        #expect(batch.next() == .finish)
        #expect(!batch.cancel())
        #expect(!batch.wasCancelled)
    }

    @Test func anEmptyBatchIsOverAtOnce() throws {
        var batch = try schedule(0, 6)
        #expect(batch.next() == .finish)
        #expect(batch.next() == .wait)
    }

    @Test func anEndThatWasNeverBegunIsIgnored() throws {
        var batch = try schedule(1, 1)
        #expect(!batch.ended(0, failed: true))
        #expect(batch.next() == .start(0))
    }

    @Test(arguments: [0, -1]) func aConcurrencyBelowOneIsRefused(concurrency: Int) {
        let error = #expect(throws: NightjarError.self) { _ = try self.schedule(1, concurrency) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == "the concurrency of a batch must be 1 or more, got \(concurrency)")
    }
}
