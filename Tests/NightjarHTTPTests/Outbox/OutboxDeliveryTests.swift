import Testing

@testable import NightjarHTTP

/// A generator whose numbers are all equal: the waits are the shortest or the longest.
private struct Constant: RandomNumberGenerator {
    var value: UInt64
    mutating func next() -> UInt64 { value }
}

/// The action as a text.
private func text(_ action: OutboxDelivery.Action) -> String {
    switch action {
    case .send: "send"
    case .fetch: "fetch"
    case .complete: "complete"
    case .hold(let state, let error): "\(state.rawValue): \(error.message)"
    case .retry(let retry): "retry \(retry.delay.inSeconds)" + (retry.countsAttempt ? "" : " uncounted")
    }
}

private let lost = NightjarError(.connectionLost, "the connection was lost", requestMayHaveBeenProcessed: true)
private let refused = NightjarError(.connect, "the connection was refused")

@Suite struct OutboxDeliveryTests {
    private var longest = Constant(value: .max)

    /// Returns a delivery that has sent its write.
    private func sent(
        _ method: Method = .put, hasKey: Bool = true, _ change: (inout OutboxDelivery.Entry) -> Void = { _ in }
    ) -> OutboxDelivery {
        var entry = OutboxDelivery.Entry(method: method, hasKey: hasKey)
        change(&entry)
        var delivery = OutboxDelivery(entry, OutboxSettings())
        #expect(text(delivery.start()) == "send")
        return delivery
    }

    private mutating func response(_ status: Int, to delivery: inout OutboxDelivery, after: Duration? = nil) -> String {
        text(delivery.responded(status, retryAfter: after, using: &longest))
    }

    private mutating func failure(_ error: NightjarError, of delivery: inout OutboxDelivery) -> String {
        text(delivery.failed(error, using: &longest))
    }

    @Test(arguments: [200, 201, 204, 303]) mutating func successCompletesTheEntry(_ status: Int) {
        var delivery = sent(.post)
        #expect(response(status, to: &delivery) == "complete")
        #expect(!delivery.isUnresolved && !delivery.isUnreachable)
    }

    @Test mutating func conflictFetchesTheOtherVersion() {
        for status in [409, 412] {
            for found in [200, 404, 410, 403] {
                var delivery = sent(.patch)
                #expect(response(status, to: &delivery) == "fetch")
                #expect(
                    response(found, to: &delivery).hasPrefix(
                        "conflict: the server rejected the write with status \(status)"))
            }
        }
    }

    @Test mutating func conflictOfAPostHasNoOtherVersion() {
        var delivery = sent(.post)
        #expect(response(409, to: &delivery).hasPrefix("conflict: "))
    }

    @Test mutating func versionThatCannotBeStoredIsMissing() {
        var delivery = sent()
        #expect(response(412, to: &delivery) == "fetch")
        #expect(failure(NightjarError(.tooLarge, "too large"), of: &delivery).hasPrefix("conflict: "))
    }

    @Test mutating func failedFetchRepeatsTheWrite() {
        var delivery = sent()
        #expect(response(412, to: &delivery) == "fetch")
        #expect(failure(refused, of: &delivery) == "retry 1.0")
        delivery = sent()
        #expect(response(412, to: &delivery) == "fetch")
        #expect(response(503, to: &delivery, after: .seconds(7)) == "retry 7.0")
        #expect(!delivery.isUnresolved)
    }

    /// draft-ietf-httpapi-idempotency-key-header section 2.6: 409 while the first request is processed.
    @Test mutating func conflictOfARepeatedWriteIsRetried() {
        var delivery = sent(.post) { $0.isUnresolved = true }
        #expect(response(409, to: &delivery) == "retry 1.0")
        #expect(delivery.repeatedConflicts == 1 && delivery.isUnresolved)
        delivery = sent(.post) { ($0.isUnresolved, $0.repeatedConflicts) = (true, 5) }
        #expect(response(409, to: &delivery).hasPrefix("conflict: "))
        // A write without a key is a conflict at once.
        delivery = sent(.put, hasKey: false) { $0.isUnresolved = true }
        #expect(response(409, to: &delivery) == "fetch")
    }

    @Test mutating func lostResponseIsRepeatedWithTheKey() {
        var late = sent(.post)
        #expect(failure(NightjarError(.timeout, "no response").mayHaveBeenProcessed, of: &late) == "retry 1.0")
        var delivery = sent(.post)
        #expect(failure(lost, of: &delivery) == "retry 1.0")
        #expect(delivery.isUnresolved)
        for status in [500, 502, 504] {
            delivery = sent(.post)
            #expect(response(status, to: &delivery) == "retry 1.0")
            #expect(delivery.isUnresolved)
        }
    }

    @Test mutating func lostResponseWithoutAKeyIsInDoubt() {
        for method in [Method.post, .patch] {
            var delivery = sent(method, hasKey: false)
            #expect(failure(lost, of: &delivery).hasPrefix("in_doubt: the response to the write was lost"))
            var entry = OutboxDelivery.Entry(method: method, hasKey: false)
            entry.isUnresolved = true
            delivery = OutboxDelivery(entry, OutboxSettings())
            #expect(text(delivery.start()).hasPrefix("in_doubt: "))
            // The server has not processed these.
            for status in [408, 425, 429, 503] {
                delivery = sent(method, hasKey: false)
                #expect(response(status, to: &delivery) == "retry 1.0")
                #expect(!delivery.isUnresolved)
            }
        }
        for method in [Method.put, .delete] {
            var delivery = sent(method, hasKey: false)
            #expect(failure(lost, of: &delivery) == "retry 1.0")
        }
    }

    @Test mutating func repeatedDeleteOfAMissingResourceIsComplete() {
        var delivery = sent(.delete) { $0.isUnresolved = true }
        #expect(response(404, to: &delivery) == "complete")
        delivery = sent(.delete)
        #expect(response(404, to: &delivery) == "parked: the server rejected the write with status 404")
    }

    /// An idle connection was lost, so that the client has sent the write twice in one attempt.
    @Test mutating func writeThatWasSentTwiceIsUnresolved() {
        var delivery = sent(.delete)
        delivery.repeated()
        #expect(response(404, to: &delivery) == "complete")
        delivery = sent(.post)
        delivery.repeated()
        #expect(response(409, to: &delivery) == "retry 1.0" && delivery.isUnresolved)
        delivery = sent(.put)
        delivery.repeated()
        #expect(response(412, to: &delivery) == "fetch")
        guard case .hold(.conflict, let error) = delivery.responded(200, retryAfter: nil, using: &longest) else {
            Issue.record("the entry is not held")
            return
        }
        #expect(error.requestMayHaveBeenProcessed)
        // The fetch was sent twice, and not the write.
        delivery = sent(.put)
        #expect(response(412, to: &delivery) == "fetch")
        delivery.repeated()
        #expect(response(200, to: &delivery).hasPrefix("conflict") && !delivery.isUnresolved)
    }

    /// The program may repeat it only with the same key.
    @Test mutating func heldEntryMayHaveBeenProcessedByAnEarlierAttempt() {
        func isInDoubt(_ action: OutboxDelivery.Action) -> Bool {
            if case .hold(_, let error) = action { error.requestMayHaveBeenProcessed } else { false }
        }
        for isUnresolved in [false, true] {
            var delivery = sent { $0.isUnresolved = isUnresolved }
            #expect(isInDoubt(delivery.responded(403, retryAfter: nil, using: &longest)) == isUnresolved)
            delivery = sent { ($0.isUnresolved, $0.attempts) = (isUnresolved, 20) }
            #expect(isInDoubt(delivery.responded(503, retryAfter: nil, using: &longest)) == isUnresolved)
            var entry = OutboxDelivery.Entry(method: .put, hasKey: true)
            (entry.isUnresolved, entry.age) = (isUnresolved, .seconds(8 * 86_400))
            delivery = OutboxDelivery(entry, OutboxSettings())
            #expect(isInDoubt(delivery.start()) == isUnresolved)
        }
    }

    @Test mutating func unreachableServerDoesNotCount() {
        for kind in [ErrorKind.offline, .dns, .connect, .tls, .pinMismatch, .timeout] {
            var delivery = sent(.post) { $0.attempts = 1000 }
            #expect(failure(NightjarError(kind, "no server"), of: &delivery) == "retry 0.0 uncounted")
            #expect(delivery.isUnreachable && !delivery.isUnresolved)
        }
        // RFC 6585 section 6: a captive portal.
        var portal = sent(.post)
        #expect(response(511, to: &portal) == "retry 0.0 uncounted" && portal.isUnreachable)
        // A circuit breaker of the client is open.
        var rejected = sent(.post) { $0.attempts = 1000 }
        #expect(
            failure(NightjarError(.server, "open", retryAfter: .seconds(400)), of: &rejected) == "retry 400.0 uncounted"
        )
        #expect(!rejected.isUnreachable)
        var delivery = sent(.post) { $0.isUnresolved = true }
        #expect(failure(refused, of: &delivery) == "retry 0.0 uncounted")
        #expect(delivery.isUnresolved)
    }

    @Test mutating func waitsDoubleAndEndWithTheLastAttempt() {
        for (attempts, wait) in [(1, "1.0"), (2, "2.0"), (5, "16.0"), (19, "300.0")] {
            var delivery = sent { $0.attempts = attempts }
            #expect(response(503, to: &delivery) == "retry \(wait)")
        }
        var delivery = sent { $0.attempts = 20 }
        #expect(
            response(503, to: &delivery)
                == "parked: the entry failed max_attempts (20) times; the last error: the server rejected the write with status 503"
        )
        // A longer wait of the server is respected, up to a day.
        delivery = sent()
        #expect(response(429, to: &delivery, after: .seconds(30)) == "retry 30.0")
        delivery = sent()
        #expect(response(429, to: &delivery, after: .seconds(1_000_000)) == "retry 86400.0")
    }

    @Test(arguments: [300, 301, 302, 304, 307, 400, 403, 404, 405, 410, 413, 415, 422, 501])
    mutating func rejectedWriteIsParked(_ status: Int) {
        var delivery = sent()
        #expect(response(status, to: &delivery) == "parked: the server rejected the write with status \(status)")
    }

    @Test mutating func oldEntryIsParked() {
        var entry = OutboxDelivery.Entry(method: .put, hasKey: true)
        entry.age = .seconds(7 * 86_400 + 1)
        var delivery = OutboxDelivery(entry, OutboxSettings())
        #expect(text(delivery.start()).hasPrefix("parked: the entry was not delivered within max_age (604800.0 s)"))
    }

    @Test mutating func cancelledCallIsRepeated() {
        var delivery = sent(.post)
        #expect(
            failure(NightjarError(.cancelled, "cancelled").mayHaveBeenProcessed, of: &delivery) == "retry 0.0 uncounted"
        )
        #expect(delivery.isUnresolved)
    }

    @Test mutating func tooLargeResponseOfAnAcceptedWriteCompletesIt() {
        var facts = NightjarError.Facts(.tooLarge, "the body is too large")
        facts.status = 201
        var delivery = sent(.post)
        #expect(failure(NightjarError(facts), of: &delivery) == "complete")
    }
}

@Suite struct OutboxScheduleTests {
    private var longest = Constant(value: .max)

    private func schedule(concurrency: Int = 2) -> OutboxSchedule {
        var settings = OutboxSettings()
        settings.concurrency = concurrency
        return OutboxSchedule(settings)
    }

    @Test mutating func entriesAreTakenUpToTheConcurrency() {
        var schedule = schedule()
        #expect(schedule.changed() == .take(2))
        // A change while the journal is read is not lost.
        #expect(schedule.changed() == nil)
        #expect(schedule.took(1, of: 2, nextDue: nil) == .take(1))
        #expect(schedule.took(1, of: 1, nextDue: nil) == nil)
        #expect(schedule.changed() == nil)
        #expect(schedule.ended(reachedServer: true, using: &longest) == .take(1))
        #expect(schedule.took(0, of: 1, nextDue: .seconds(2)) == .wait(4, .seconds(2)))
        #expect(schedule.ended(reachedServer: true, using: &longest) == .take(2))
        // The wait has no effect any more.
        #expect(schedule.waited(4) == nil)
    }

    @Test mutating func journalIsReadAgainForTheEntriesOfOthers() {
        var schedule = schedule()
        #expect(schedule.changed() == .take(2))
        #expect(schedule.took(0, of: 2, nextDue: nil) == .wait(2, .seconds(5)))
        #expect(schedule.waited(2) == .take(2))
        #expect(schedule.took(0, of: 2, nextDue: .seconds(3600)) == .wait(4, .seconds(5)))
        #expect(schedule.waited(4) == .take(2))
        #expect(schedule.took(0, of: 2, nextDue: .zero) == .wait(6, .milliseconds(10)))
    }

    @Test mutating func oneEntryProbesAnUnreachableServer() {
        var schedule = schedule()
        #expect(schedule.changed() == .take(2))
        #expect(schedule.took(2, of: 2, nextDue: nil) == nil)
        #expect(schedule.ended(reachedServer: false, using: &longest) == nil)
        // Failures of attempts that were in flight together count once.
        #expect(schedule.ended(reachedServer: false, using: &longest) == .wait(2, .milliseconds(1500)))
        #expect(schedule.changed() == nil)
        #expect(schedule.waited(2) == .take(1))
        #expect(schedule.took(1, of: 1, nextDue: .zero) == nil)
        #expect(schedule.ended(reachedServer: false, using: &longest) == .wait(4, .seconds(3)))
        // The network has changed.
        #expect(schedule.networkChanged() == .take(1))
        #expect(schedule.took(1, of: 1, nextDue: .zero) == nil)
        #expect(schedule.ended(reachedServer: true, using: &longest) == .take(2))
        #expect(schedule.networkChanged() == nil)
    }

    @Test mutating func lostLeaseEndsNoHold() {
        var schedule = schedule()
        #expect(schedule.changed() == .take(2))
        #expect(schedule.took(2, of: 2, nextDue: nil) == nil)
        #expect(schedule.ended(reachedServer: false, using: &longest) == nil)
        #expect(schedule.ended(reachedServer: nil, using: &longest) == .wait(2, .seconds(5)))
        #expect(schedule.waited(2) == .take(1))
    }
}
