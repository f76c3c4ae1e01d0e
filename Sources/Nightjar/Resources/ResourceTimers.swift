import NIOCore

/// The timers of a resource, by kind: a new time of a kind replaces the previous one. Used on the loop.
///
/// Each kind has at most one timer of the loop, however often its time changes. A kind always waits for the same
/// duration, so that a new time is not before the previous one.
final class ResourceTimers<Kind: Hashable & Sendable> {
    private struct Alarm {
        var number: Int
        var time: NIODeadline
    }

    private let loop: ClientLoop
    private var alarms: [Kind: Alarm] = [:]
    private let expired: (Kind, Int) -> Void

    /// - Parameter expired: Called with the kind and the number of the last time that was set.
    init(_ loop: ClientLoop, expired: @escaping (Kind, Int) -> Void) {
        self.loop = loop
        self.expired = expired
    }

    func set(_ kind: Kind, _ number: Int, after duration: Duration) {
        let isScheduled = alarms[kind] != nil
        alarms[kind] = Alarm(number: number, time: .now() + .nanoseconds(duration.nanosecondsClamped))
        if !isScheduled { schedule(kind) }
    }

    private func schedule(_ kind: Kind) {
        guard let alarm = alarms[kind] else { return }
        let rest = max((alarm.time - .now()).nanoseconds, 0)
        let fire = LoopAction { [weak self] in self?.fire(kind) }
        loop.after(.nanoseconds(rest)) { fire.run() }
    }

    private func fire(_ kind: Kind) {
        guard let alarm = alarms[kind] else { return }
        guard alarm.time <= .now() else { return schedule(kind) }
        alarms[kind] = nil
        expired(kind, alarm.number)
    }
}
