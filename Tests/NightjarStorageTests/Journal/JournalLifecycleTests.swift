import Testing

@testable import NightjarStorage

/// The transitions of an entry, without a file.
@Suite struct JournalLifecycleTests {
    private func lifecycle(
        _ phase: JournalPhase, cancel: Bool = false, paused: Bool = false, acknowledged: Bool = false,
        unresolved: Bool = false
    ) -> JournalLifecycle {
        JournalLifecycle(
            phase, isCancelRequested: cancel, isPaused: paused, isAcknowledged: acknowledged,
            hasUnresolvedIntents: unresolved)
    }

    /// Applies an event. Returns the phase afterwards; nil if the event is rejected.
    private func after(
        _ start: JournalLifecycle, _ event: (inout JournalLifecycle) throws(JournalLifecycle.Rejection) -> Void
    ) -> JournalPhase? {
        var lifecycle = start
        do throws(JournalLifecycle.Rejection) {
            try event(&lifecycle)
            return lifecycle.phase
        } catch {
            #expect(lifecycle == start)
            return nil
        }
    }

    /// One row for each phase: the phases after finish as done, release, cancel, retry, resolve as failed and
    /// acknowledge.
    @Test(
        arguments: [
            (.pending, [nil, nil, .cancelled, nil, nil, nil]),
            (.running, [.done, .pending, .running, nil, nil, nil]),
            (.inDoubt, [nil, nil, .inDoubt, .pending, .failed, .inDoubt]),
            (.done, [nil, nil, .done, nil, nil, .done]),
            (.failed, [nil, nil, .failed, .pending, nil, .failed]),
            (.cancelled, [nil, nil, .cancelled, .pending, nil, .cancelled]),
        ] as [(JournalPhase, [JournalPhase?])])
    func eventsChangeThePhase(_ phase: JournalPhase, _ expected: [JournalPhase?]) {
        let start = lifecycle(phase)
        let found = [
            after(start) { (state) throws(JournalLifecycle.Rejection) in try state.finish(as: .done) },
            after(start) { (state) throws(JournalLifecycle.Rejection) in try state.release() },
            after(start) { (state) throws(JournalLifecycle.Rejection) in state.cancel() },
            after(start) { (state) throws(JournalLifecycle.Rejection) in try state.retry() },
            after(start) { (state) throws(JournalLifecycle.Rejection) in try state.resolve(as: .failed) },
            after(start) { (state) throws(JournalLifecycle.Rejection) in try state.acknowledge() },
        ]
        #expect(found == expected)
    }

    @Test func takingNeedsAnEndedLeaseAndNoPause() throws {
        for (start, isOver, isTaken) in [
            (lifecycle(.pending), false, true), (lifecycle(.pending, paused: true), false, false),
            (lifecycle(.running), false, false), (lifecycle(.running), true, true),
            (lifecycle(.running, paused: true), true, false), (lifecycle(.pending, cancel: true), false, true),
        ] {
            var state = start
            #expect(try state.take(isLeaseOver: isOver) == isTaken)
            #expect(state.phase == (isTaken ? .running : start.phase))
        }
        for phase in [JournalPhase.inDoubt, .done, .failed, .cancelled] {
            var state = lifecycle(phase)
            #expect(throws: JournalLifecycle.Rejection.self) { try state.take(isLeaseOver: true) }
        }
    }

    /// An effect may have happened, so the entry can only be in doubt.
    @Test(arguments: JournalEnding.allCases) func unresolvedIntentsPermitOnlyDoubt(_ ending: JournalEnding) {
        let start = lifecycle(.running, unresolved: true)
        let phase = after(start) { (state) throws(JournalLifecycle.Rejection) in try state.finish(as: ending) }
        #expect(phase == (ending == .inDoubt ? .inDoubt : nil))
    }

    @Test func cancellationIsARequestWhileAnEffectMayHaveHappened() {
        var state = lifecycle(.pending, paused: true, unresolved: true)
        state.cancel()
        #expect(state.phase == .pending && state.isCancelRequested && !state.isPaused)
        #expect(after(state) { (state) throws(JournalLifecycle.Rejection) in try state.pause(true) } == nil)
        state = lifecycle(.running, cancel: true, unresolved: true)
        #expect(after(state) { (state) throws(JournalLifecycle.Rejection) in try state.release() } == .pending)
        state.intentsChanged(hasUnresolved: false)
        #expect(after(state) { (state) throws(JournalLifecycle.Rejection) in try state.release() } == .cancelled)
    }

    @Test func retryStartsAgainWithoutRequestsAndDoubts() throws {
        var state = lifecycle(.inDoubt, cancel: true, unresolved: true)
        try state.retry()
        #expect(state == lifecycle(.pending))
        var acknowledged = lifecycle(.failed, acknowledged: true)
        #expect(throws: JournalLifecycle.Rejection.self) { try acknowledged.retry() }
    }

    @Test func removalWaitsForTheLease() {
        #expect(throws: JournalLifecycle.Rejection.self) { try self.lifecycle(.running).remove(isLeaseOver: false) }
        for phase in JournalPhase.allCases {
            #expect(throws: Never.self) { try self.lifecycle(phase).remove(isLeaseOver: true) }
        }
    }
}
