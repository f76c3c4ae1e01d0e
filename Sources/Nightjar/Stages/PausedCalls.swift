import NIOCore
import NightjarHTTP

/// Holds back calls for resources that a server has paused with Retry-After. `ResourcePauses` decides which resources
/// are paused. ``Limit`` calls ``hold(_:_:)`` before it admits a call. Used on the loop.
final class PausedCalls: @unchecked Sendable {
    private let places = CallStateKey<Place>()
    private let longestWait: Duration
    private let maximumCount: Int
    private var pauses = ResourcePauses()
    /// The waiting calls of each resource, in order of arrival.
    private var calls: [ResourcePauses.Resource: [Held]] = [:]
    private var lastID: UInt64 = 0

    /// The place of one waiting call.
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
    ///   - longestWait: If a pause lasts longer, calls without a maximum wait of their own fail at once.
    ///   - maximumCount: The maximum number of calls that wait for one resource. Further calls fail at once.
    init(longestWait: Duration, maximumCount: Int) {
        self.longestWait = longestWait
        self.maximumCount = maximumCount
    }

    /// Whether no pause is stored for any resource. A stored pause may have expired.
    var isEmpty: Bool { pauses.isEmpty }

    /// Holds back a call whose exchange is about to begin.
    ///
    /// - Parameter enter: Called when the pause is over.
    /// - Returns: `wait`, or `fail` if the call cannot wait. Nil if the resource is not paused, or if the call ignores
    ///   pauses.
    func hold(_ call: Call, _ enter: @escaping (Call) -> Verdict) -> Verdict? {
        guard call.options.respectsRetryAfter else { return nil }
        let resource = ResourcePauses.Resource(call.request.url)
        let now = call.loop.clock.now
        guard let wait = pauses.wait(for: resource, now: now.uptimeNanoseconds) else { return nil }
        let name = call.request.url.redacted
        guard wait <= call.options.retry?.longestWait ?? longestWait else {
            return .fail(PausedCalls.paused(name, wait))
        }
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

    /// Ends the wait of a call without resuming the call. Has no effect on a call that does not wait for a resource.
    func leave(_ call: Call) {
        guard let place = call.states[places].take() else { return }
        _ = remove(place.resource, place.id)
    }

    /// Handles a response that may request a pause.
    ///
    /// - Returns: The scope of the requested pause, or nil. A pause of the whole origin is stored by the gate of the
    ///   origin or of the call's group.
    func received(_ head: ResponseHead, _ call: Call) -> PauseScope? {
        guard let wait = RetryAfter.duration(head.headers, now: WallClock.secondsSince1970()), wait > .zero,
            let scope = PauseScope(status: head.status, wait: wait, longestWait: longestWait)
        else { return nil }
        if scope == .resource {
            pauses.pause(call.request.url, for: wait, now: call.loop.clock.now.uptimeNanoseconds)
        }
        return scope
    }

    /// Resumes the calls that wait for a resource after the resource has responded successfully.
    func succeeded(_ call: Call) {
        let resource = ResourcePauses.Resource(call.request.url)
        guard pauses.succeeded(resource) else { return }
        for held in calls.removeValue(forKey: resource) ?? [] { release(held) }
    }

    private func release(_ held: Held) {
        let call = held.call
        // A call that was resumed before may have ended this call.
        guard call.states[places]?.id == held.id else { return }
        call.states[places] = nil
        let wait = Duration.nanoseconds((call.loop.clock.now - held.since).nanoseconds)
        let name = call.request.url.redacted
        call.decide(.waited(wait, for: "the pause of \(name) requested by the server (Retry-After)"))
        // Another response may have requested a longer pause meanwhile.
        call.resume(hold(call, held.enter) ?? held.enter(call))
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
            "the server requested a pause for \(name) (Retry-After), and the remaining \(wait.rounded) s exceed the "
                + "maximum wait; call again later, raise retry.max_wait, or set respect_retry_after to "
                + "false", retryAfter: wait)
    }

    /// The current pauses, sorted by name.
    func states(now: UInt64) -> [LimitState] {
        pauses.all(now: now).map { name, resource, wait in
            LimitState(
                name: name, inFlight: 0, queued: calls[resource]?.count ?? 0, circuit: .closed, pause: wait)
        }.sorted { $0.name < $1.name }
    }
}
