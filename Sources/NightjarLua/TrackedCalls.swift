import NIOCore
import Nightjar

/// The combined progress of a session's calls. Calls that overlap form a group. The progress of a group includes its
/// ended calls.
struct TrackedCalls {
    private var inFlight: [ObjectIdentifier: TaskHandlers.Progress] = [:]
    private var ended = TaskHandlers.Progress()
    private var began = NIODeadline.now()
    private(set) var isChanged = false

    /// Stops following the calls in flight.
    mutating func pauseTracking() {
        guard !inFlight.isEmpty else { return }
        inFlight = [:]
        isChanged = true
    }

    mutating func begin(_ call: Future) {
        if inFlight.isEmpty {
            began = .now()
            ended = TaskHandlers.Progress()
        }
        inFlight[ObjectIdentifier(call)] = TaskHandlers.Progress()
    }

    mutating func update(_ call: Future, _ progress: TaskHandlers.Progress) {
        guard inFlight[ObjectIdentifier(call)] != nil else { return }
        inFlight[ObjectIdentifier(call)] = progress
        isChanged = true
    }

    mutating func end(_ call: Future) {
        guard !inFlight.isEmpty, let progress = inFlight.removeValue(forKey: ObjectIdentifier(call)) else { return }
        ended.sent = ended.sent.addingClamped(progress.sent)
        ended.received = ended.received.addingClamped(progress.received)
        isChanged = true
    }

    /// Returns the sums over the calls of the group. A total is nil if it is unknown for a call in flight.
    mutating func take() -> (sum: TaskHandlers.Progress, calls: Int, time: Duration) {
        isChanged = false
        var sum = ended
        sum.sentTotal = ended.sent
        sum.receivedTotal = ended.received
        for progress in inFlight.values {
            sum.sent = sum.sent.addingClamped(progress.sent)
            sum.received = sum.received.addingClamped(progress.received)
            sum.sentTotal = TrackedCalls.sum(sum.sentTotal, progress.sentTotal)
            sum.receivedTotal = TrackedCalls.sum(sum.receivedTotal, progress.receivedTotal)
        }
        return (sum, inFlight.count, .nanoseconds((NIODeadline.now() - began).nanoseconds))
    }

    private static func sum(_ a: Int?, _ b: Int?) -> Int? {
        guard let a, let b else { return nil }
        return a.addingClamped(b)
    }
}

extension Int {
    /// Returns the sum, or Int.max if it overflows, because servers can announce arbitrarily large byte counts.
    fileprivate func addingClamped(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
