/// The calls to which the pause of a Retry-After field applies. RFC 9110 section 10.2.3.
///
/// Such a call waits, or fails if the wait is too long for the call. A call that does not respect Retry-After ignores
/// the pause.
///
/// | response | wait | calls |
/// |---|---|---|
/// | 429 | up to the longest wait | all calls to the origin, or of the call's limit group: the client sends too fast |
/// | 429 | longer | calls for the same URL: a quota of that resource is used up |
/// | 503 | any | calls for the same URL: other resources of the server may work |
public enum PauseScope: Sendable, Equatable {
    case origin
    case resource

    /// Determines the calls to which the pause of a response applies.
    ///
    /// - Parameter longestWait: ``RetrySettings/longestWait``.
    /// - Returns: nil for a status that does not request a pause.
    public init?(status: Int, wait: Duration, longestWait: Duration) {
        switch status {
        case 429: self = wait <= longestWait ? .origin : .resource
        case 503: self = .resource
        default: return nil
        }
    }
}

/// The resources for which a server requested a pause. Times are nanoseconds of a monotonic clock.
///
/// A successful response for a resource ends the resource's pause.
public struct ResourcePauses: Sendable {
    /// One URL, without its fragment and user info.
    public struct Resource: Hashable, Sendable {
        let origin: Origin
        let target: String

        public init(_ url: RequestURL) {
            origin = url.origin
            target = url.target
        }
    }

    /// A pause, and the resource's name for messages.
    private struct Pause {
        var end: UInt64
        let name: String
    }

    /// The maximum number of pauses. If there are more, the pause that ends first is dropped.
    static let maximumCount = 1024

    private var pauses: [Resource: Pause] = [:]

    public init() {}

    /// True if no pauses are stored. Expired pauses may still be stored.
    public var isEmpty: Bool { pauses.isEmpty }

    /// Records the pause that a response for `url` requested. Does not shorten an existing pause.
    public mutating func pause(_ url: RequestURL, for wait: Duration, now: UInt64) {
        let end = now.later(by: wait)
        guard end > now else { return }
        let resource = Resource(url)
        if let known = pauses[resource]?.end {
            pauses[resource]?.end = max(known, end)
            return
        }
        if pauses.count >= ResourcePauses.maximumCount {
            pauses = pauses.filter { $0.value.end > now }
            while pauses.count >= ResourcePauses.maximumCount,
                let first = pauses.min(by: { $0.value.end < $1.value.end })
            {
                pauses[first.key] = nil
            }
        }
        pauses[resource] = Pause(end: end, name: url.redacted)
    }

    /// Returns the time for which calls for `resource` are delayed, or nil if they are not delayed.
    public mutating func wait(for resource: Resource, now: UInt64) -> Duration? {
        guard let end = pauses[resource]?.end else { return nil }
        guard end > now else {
            pauses[resource] = nil
            return nil
        }
        return now.wait(until: end)
    }

    /// Reports that a call for `resource` has succeeded. Ends the pause of the resource.
    ///
    /// - Returns: true if there was a pause.
    public mutating func succeeded(_ resource: Resource) -> Bool {
        pauses.removeValue(forKey: resource) != nil
    }

    /// Returns the pauses that have not expired.
    public func all(now: UInt64) -> [(name: String, resource: Resource, wait: Duration)] {
        pauses.compactMap { resource, pause in
            pause.end > now ? (pause.name, resource, now.wait(until: pause.end)) : nil
        }
    }
}
