/// The freshness lifetime and the age of a stored response. RFC 9111 section 4.2.
public struct Freshness: Sendable, Equatable {
    /// The freshness lifetime in seconds, counted from the generation of the response.
    public let lifetime: Int64
    /// True if the server did not specify a lifetime. The lifetime is then estimated from Last-Modified, or zero.
    public let isHeuristic: Bool
    let directives: ResponseDirectives
    let isInvalidated: Bool
    /// The age of the response when it arrived, in milliseconds. Section 4.2.3.
    let initialAge: Int64
    /// The time at which the response arrived, in milliseconds since 1970.
    let received: Int64
    /// The time at which the response was generated, in seconds since 1970: its Date, or its arrival if the Date is
    /// missing or invalid. Used to find the most recent response.
    let date: Int64

    /// The heuristic lifetime is the time since the last change divided by this number.
    static let heuristicFraction: Int64 = 10
    /// The longest heuristic lifetime in seconds: a week, as in Firefox. Without this limit, a Last-Modified in 1970,
    /// as many servers send it, would give a lifetime of more than five years.
    static let maximumGuess: Int64 = 7 * 86_400
    /// The time in milliseconds by which a response may appear to have arrived in the future. If it appears to have
    /// arrived later than that, the clock was set back and the age is unknown.
    static let clockTolerance: Int64 = 1000

    public init(_ stored: StoredResponse) {
        self.init(
            CacheFields(stored.headers), stored.headers, status: stored.status, requested: stored.requested,
            received: stored.received, isInvalidated: stored.isInvalidated)
    }

    init(
        _ fields: CacheFields, _ headers: Headers, status: Int, requested: Timestamp, received: Timestamp,
        isInvalidated: Bool = false
    ) {
        directives = fields.directives
        self.isInvalidated = isInvalidated
        self.received = received.milliseconds
        let made = headers.date(at: fields.date, received: received) ?? received.seconds
        date = made
        let delay = max(0, received.milliseconds - requested.milliseconds)
        let apparent = max(0, received.seconds - made)
        initialAge = max(apparent * 1000, Freshness.age(headers, fields) * 1000 + delay)
        if let maxAge = directives.maxAge {
            lifetime = maxAge
            isHeuristic = false
        } else if fields.expires != nil {
            let expiry = Freshness.expiry(headers, received: received)
            lifetime = expiry.map { min(max(0, $0 - made), DeltaSeconds.largest) } ?? 0
            isHeuristic = false
        } else {
            lifetime = Freshness.guess(headers, fields, status: status, date: made, received: received)
            isHeuristic = true
        }
    }

    /// Returns the first member of the first Age field, without parameters. Returns 0 if the field is missing or
    /// invalid. Section 5.1.
    private static func age(_ headers: Headers, _ fields: CacheFields) -> Int64 {
        guard let index = fields.age else { return 0 }
        return headers.withBytes(at: index) { _, value in
            let end = value.firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") } ?? value.count
            return DeltaSeconds.read(EntityTag.trimmed(UnsafeRawBufferPointer(rebasing: value[..<end]))) ?? 0
        }
    }

    /// Returns the earliest Expires date. Returns nil if a date is invalid, which counts as expired. Section 5.3.
    private static func expiry(_ headers: Headers, received: Timestamp) -> Int64? {
        var earliest: Int64? = .max
        headers.forEach("expires") { value in
            guard let known = earliest, let date = HTTPDate.parse(value, received: received.seconds) else {
                earliest = nil
                return
            }
            earliest = min(known, date)
        }
        return earliest
    }

    /// Returns the heuristic lifetime in seconds. Section 4.2.2.
    private static func guess(
        _ headers: Headers, _ fields: CacheFields, status: Int, date: Int64, received: Timestamp
    ) -> Int64 {
        guard fields.lastModified != nil, !(fields.hasPragmaNoCache && !fields.directives.isPresent),
            StatusRules.isHeuristicallyCacheable(status) || fields.directives.flags.contains(.isPublic),
            let changed = headers.date(at: fields.lastModified, received: received), changed < date
        else { return 0 }
        return min((date - changed) / heuristicFraction, maximumGuess)
    }

    /// Returns the age at `now` in milliseconds.
    func age(atMilliseconds now: Int64) -> Int64 {
        min(initialAge + max(0, now - received), DeltaSeconds.largest * 1000)
    }

    /// Returns the age at `now` in whole seconds, as in the Age field. Never negative.
    public func age(at now: Timestamp) -> Int64 { age(atMilliseconds: now.milliseconds) / 1000 }

    /// Returns true if the response appears to have arrived in the future. Its age is then unknown.
    func isFromFuture(_ now: Int64) -> Bool { received > now + Freshness.clockTolerance }

    /// Returns true if the lifetime has not passed and the age is known. Ignores invalidation, and all other directives
    /// of the response and the request.
    public func isFresh(at now: Timestamp) -> Bool {
        let now = now.milliseconds
        return lifetime * 1000 > age(atMilliseconds: now) && !isFromFuture(now)
    }

    /// True if the server explicitly permits the reuse of the response for some time without validation.
    public var isExplicitlyReusable: Bool { !isHeuristic && lifetime > 0 && !directives.noCache }

    /// The time at which the response becomes stale. Nil if this time is outside the years 0 to 9999.
    public var freshUntil: Timestamp? {
        Timestamp(millisecondsSince1970: received).flatMap { $0.later(by: .milliseconds(lifetime * 1000 - initialAge)) }
    }

    /// Returns true if the response is fresh, or stale by at most `seconds`. Returns false if `seconds` is nil or the
    /// age is unknown.
    func isStale(within seconds: Int64?, _ now: Int64) -> Bool {
        guard let seconds, !isFromFuture(now) else { return false }
        return age(atMilliseconds: now) - lifetime * 1000 <= min(seconds, DeltaSeconds.largest) * 1000
    }
}

extension StoredResponse {
    /// The freshness. Each access parses the fields again.
    public var freshness: Freshness { Freshness(self) }
}
