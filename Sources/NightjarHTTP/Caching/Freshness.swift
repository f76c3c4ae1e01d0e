/// How long a stored answer is good for, and how old it is. RFC 9111 section 4.2.
public struct Freshness: Sendable, Equatable {
    /// In seconds, from when the answer was made.
    public let lifetime: Int64
    /// The server did not say; it was guessed from Last-Modified.
    public let isHeuristic: Bool
    let directives: ResponseDirectives
    let isInvalidated: Bool
    /// The age that it came with, in milliseconds. Section 4.2.3.
    let initialAge: Int64
    /// In milliseconds since 1970.
    let received: Int64
    /// When it was made, in seconds since 1970: tells which of several is the newest.
    let date: Int64

    /// The part of the time since the last change that a document is taken to stay as it is.
    static let heuristicFraction: Int64 = 10
    /// A week, in seconds. A date of 1970, which stands for "not known" at many servers, would make five years of it; a week is
    /// what browsers that have a bound take.
    static let longestGuess: Int64 = 7 * 86_400
    /// Two readings of the clock, one of them of a coarse one, may be as much apart; what is received later than this from now
    /// has come before the clock went back, and nobody knows how old it is. In milliseconds.
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

    /// The first member of the first field, without what somebody has put behind a semicolon; one that is no number of seconds
    /// says nothing. Section 5.1.
    private static func age(_ headers: Headers, _ fields: CacheFields) -> Int64 {
        guard let index = fields.age else { return 0 }
        return headers.withBytes(at: index) { _, value in
            let end = value.firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: ";") } ?? value.count
            return DeltaSeconds.read(EntityTag.trimmed(UnsafeRawBufferPointer(rebasing: value[..<end]))) ?? 0
        }
    }

    /// The earliest of the dates; nil where one is none, which has to count as past. Section 5.3.
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

    /// Section 4.2.2.
    private static func guess(
        _ headers: Headers, _ fields: CacheFields, status: Int, date: Int64, received: Timestamp
    ) -> Int64 {
        guard fields.lastModified != nil, !(fields.hasPragmaNoCache && !fields.directives.isPresent),
            StatusRules.isHeuristicallyCacheable(status) || fields.directives.flags.contains(.isPublic),
            let changed = headers.date(at: fields.lastModified, received: received), changed < date
        else { return 0 }
        return min((date - changed) / heuristicFraction, longestGuess)
    }

    /// In milliseconds.
    func age(atMilliseconds now: Int64) -> Int64 {
        min(initialAge + max(0, now - received), DeltaSeconds.largest * 1000)
    }

    /// In whole seconds, as the Age field has it; zero or more, whatever the clock does.
    public func age(at now: Timestamp) -> Int64 { age(atMilliseconds: now.milliseconds) / 1000 }

    /// Came later than now: its age is not known.
    func isFromFuture(_ now: Int64) -> Bool { received > now + Freshness.clockTolerance }

    /// By its lifetime alone: what else the answer or a request says is not looked at.
    public func isFresh(at now: Timestamp) -> Bool {
        let now = now.milliseconds
        return lifetime * 1000 > age(atMilliseconds: now) && !isFromFuture(now)
    }

    /// The server itself says that the response may be reused for a while, without asking first.
    public var isExplicitlyReusable: Bool { !isHeuristic && lifetime > 0 && !directives.noCache }

    /// The first moment at which it is stale; nil: never, as far as moments go.
    public var freshUntil: Timestamp? {
        Timestamp(millisecondsSince1970: received).flatMap { $0.later(by: .milliseconds(lifetime * 1000 - initialAge)) }
    }

    /// Whether it is stale by no more than so many seconds. Not, where its age is not known.
    func isStale(within seconds: Int64?, _ now: Int64) -> Bool {
        guard let seconds, !isFromFuture(now) else { return false }
        return age(atMilliseconds: now) - lifetime * 1000 <= min(seconds, DeltaSeconds.largest) * 1000
    }
}

extension StoredResponse {
    /// Reads its fields: to be kept beside it where it is asked often.
    public var freshness: Freshness { Freshness(self) }
}
