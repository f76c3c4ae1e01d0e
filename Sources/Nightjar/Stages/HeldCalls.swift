import NIOCore
import NightjarHTTP

/// The calls that wait for the end of the pause that a server asked for (Retry-After) for one resource. `ResourcePauses`
/// decides; ``Limit`` asks before it lets a call in. On the loop.
final class HeldCalls: @unchecked Sendable {
    private let places = CallStateKey<Place>()
    private let longestWait: Duration
    private let maximumCount: Int
    private var pauses = ResourcePauses()
    /// In order of arrival.
    private var calls: [ResourcePauses.Resource: [Held]] = [:]
    private var lastID: UInt64 = 0

    /// The place of one call that waits.
    private final class Place: CallState {
        let resource: ResourcePauses.Resource
        let id: UInt64

        init(_ resource: ResourcePauses.Resource, _ id: UInt64) {
            self.resource = resource
            self.id = id
        }
    }

    private struct Held {
        let id: UInt64
        let call: Call
        let since: NIODeadline
        /// Resumes the call when the pause ends.
        let enter: (Call) -> Verdict
    }

    /// - Parameters:
    ///   - longestWait: calls that would have to wait longer fail at once.
    ///   - maximumCount: calls that may wait for one resource; more fail at once.
    init(longestWait: Duration, maximumCount: Int) {
        self.longestWait = longestWait
        self.maximumCount = maximumCount
    }

    /// No server has asked for a pause.
    var isEmpty: Bool { pauses.isEmpty }

    /// Holds a call back that is about to begin.
    ///
    /// - Parameter enter: what happens when the pause is over.
    /// - Returns: nil if there is no pause for its resource, or if the call ignores pauses.
    func hold(_ call: Call, _ enter: @escaping (Call) -> Verdict) -> Verdict? {
        guard call.options.respectsRetryAfter else { return nil }
        let resource = ResourcePauses.Resource(call.request.url)
        let now = call.loop.clock.now
        guard let wait = pauses.wait(for: resource, now: now.uptimeNanoseconds) else { return nil }
        let name = call.request.url.redacted
        guard wait <= call.options.retry?.longestWait ?? longestWait else { return .fail(HeldCalls.paused(name, wait)) }
        if let total = call.limits.total, now + .nanoseconds(wait.nanosecondsClamped) >= total {
            return .fail(LimitGate.Refusal.pastDeadline(wait).error(of: name))
        }
        guard calls[resource]?.count ?? 0 < maximumCount else {
            return .fail(LimitGate.Refusal.queueIsFull(maximum: maximumCount).error(of: name))
        }
        lastID += 1
        let id = lastID
        call.states[places] = Place(resource, id)
        calls[resource, default: []].append(Held(id: id, call: call, since: now, enter: enter))
        call.loop.after(wait) { [self, weak call] in
            guard let call, call.states[places]?.id == id, let held = remove(resource, id) else { return }
            release(held)
        }
        return .wait
    }

    /// A call has ended, or another of its attempts begins.
    func leave(_ call: Call) {
        guard let place = call.states[places].take() else { return }
        _ = remove(place.resource, place.id)
    }

    /// A response arrived that may ask for a pause.
    ///
    /// - Returns: whose pause it is; nil: it asks for none. The origin's is kept by its gate.
    func received(_ head: ResponseHead, _ call: Call) -> PauseScope? {
        guard let wait = RetryAfter.duration(head.headers, now: WallClock.secondsSince1970()), wait > .zero,
            let scope = PauseScope(status: head.status, wait: wait, longestWait: longestWait)
        else { return nil }
        if scope == .resource {
            pauses.pause(call.request.url, for: wait, now: call.loop.clock.now.uptimeNanoseconds)
        }
        return scope
    }

    /// A response shows that the resource works: the calls that wait for it continue.
    func succeeded(_ call: Call) {
        let resource = ResourcePauses.Resource(call.request.url)
        guard pauses.succeeded(resource) else { return }
        for held in calls.removeValue(forKey: resource) ?? [] { release(held) }
    }

    private func release(_ held: Held) {
        let call = held.call
        // It has left since, by what those before it did.
        guard call.states[places]?.id == held.id else { return }
        call.states[places] = nil
        let wait = Duration.nanoseconds((call.loop.clock.now - held.since).nanoseconds)
        let name = call.request.url.redacted
        call.decide(.waited(wait, for: "the pause of \(name) that the server asked for (Retry-After)"))
        // Another response may have asked for a longer one meanwhile.
        call.goOn(hold(call, held.enter) ?? held.enter(call))
    }

    private func remove(_ resource: ResourcePauses.Resource, _ id: UInt64) -> Held? {
        guard let index = calls[resource]?.firstIndex(where: { $0.id == id }) else { return nil }
        let held = calls[resource]?.remove(at: index)
        if calls[resource]?.isEmpty == true { calls[resource] = nil }
        return held
    }

    private static func paused(_ name: String, _ wait: Duration) -> NightjarError {
        NightjarError(
            .rateLimited,
            "the server asked to pause calls for \(name) (Retry-After), and another \(wait.rounded) s is longer than calls "
                + "wait; call again then, raise retry.max_wait, or set respect_retry_after to false", retryAfter: wait)
    }

    /// The pauses in force, sorted by name.
    func states(now: UInt64) -> [LimitState] {
        pauses.all(now: now).map { name, resource, wait in
            LimitState(
                name: name, inside: 0, waiting: calls[resource]?.count ?? 0, circuit: .closed, pause: wait)
        }.sorted { $0.name < $1.name }
    }
}
