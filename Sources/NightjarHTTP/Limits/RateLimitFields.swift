/// The rate limit that a response reports.
///
/// Reads `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers, version 7 and later),
/// `RateLimit-Limit`, `-Remaining` and `-Reset` (earlier versions), and the same three names with the prefix `X-`.
struct RateLimitFields: Equatable {
    /// The number of requests per window. Nil if not reported.
    var quota: Int?
    /// The number of requests that remain in the window.
    var remaining: Int
    /// The time until the window ends.
    var reset: Duration

    /// The names of the separate fields. Composing the names would cost an allocation per response.
    private static let names: [(quota: String, remaining: String, reset: String)] = [
        ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"),
        ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"),
    ]

    /// The longest time until the reset in seconds: 31 days, for monthly quotas. A longer time is clamped to this
    /// value.
    private static let longestReset: Int64 = 31 * 86_400

    /// Reads the rate limit of a response.
    ///
    /// - Parameter now: seconds since 1970. Replaces a missing or invalid Date field.
    /// - Returns: nil if the response does not report a remaining count and a reset.
    init?(_ headers: Headers, now: @autoclosure () -> Double) {
        guard headers.isRateLimitField else { return nil }
        if let text = headers["RateLimit"], let read = RateLimitFields(items: text, policy: headers["RateLimit-Policy"])
        {
            self = read
            return
        }
        for names in RateLimitFields.names {
            guard let remaining = headers[names.remaining].flatMap(RateLimitFields.number),
                let reset = headers[names.reset].flatMap(RateLimitFields.number)
            else { continue }
            self.remaining = Int(clamping: remaining)
            quota = headers[names.quota].flatMap(RateLimitFields.number).map { Int(clamping: $0) }
            self.reset = RateLimitFields.reset(reset, sentAt: HTTPMoment.of(headers, now: now()))
            return
        }
        return nil
    }

    /// Parses `"burst";r=0;t=3, "day";r=900;t=60000` or `limit=10, remaining=3, reset=50`. The item with the fewest
    /// remaining requests is used.
    private init?(items text: String, policy: String?) {
        var tightest: RateLimitFields?
        for item in text.split(separator: ",").prefix(16) {
            let parameters = RateLimitFields.parameters(item)
            guard let remaining = parameters["r"], let reset = parameters["t"] else { continue }
            let name = RateLimitFields.name(item)
            let quota = policy?.split(separator: ",").prefix(16).first { RateLimitFields.name($0) == name }
                .flatMap { RateLimitFields.parameters($0)["q"] }
            if let tightest, Int64(tightest.remaining) <= remaining { continue }
            tightest = RateLimitFields(quota: quota, remaining: remaining, reset: reset)
        }
        if tightest == nil {
            let parameters = RateLimitFields.parameters(Substring(text.replacingCommas))
            guard let remaining = parameters["remaining"], let reset = parameters["reset"] else { return nil }
            tightest = RateLimitFields(quota: parameters["limit"], remaining: remaining, reset: reset)
        }
        guard let tightest else { return nil }
        self = tightest
    }

    private init(quota: Int64?, remaining: Int64, reset: Int64) {
        self.quota = quota.map { Int(clamping: $0) }
        self.remaining = Int(clamping: remaining)
        self.reset = .seconds(min(reset, RateLimitFields.longestReset))
    }

    /// Converts a reset value to a duration. Values above 1,000,000,000,000 are milliseconds since 1970. Smaller values
    /// above 1,000,000,000 are seconds since 1970. All other values are seconds from now.
    private static func reset(_ number: Int64, sentAt: Int64) -> Duration {
        guard number > 1_000_000_000 else { return .seconds(min(number, longestReset)) }
        let moment = number > 1_000_000_000_000 ? number / 1000 : number
        return .seconds(min(max(moment - sentAt, 0), longestReset))
    }

    private static func name(_ item: Substring) -> Substring {
        trimmed(item.prefix { $0 != ";" })
    }

    /// Returns the parameters that have a numeric value. Parameters are separated by `;`.
    private static func parameters(_ item: Substring) -> [Substring: Int64] {
        var found: [Substring: Int64] = [:]
        for parameter in item.split(separator: ";").prefix(16) {
            guard let sign = parameter.firstIndex(of: "=") else { continue }
            found[trimmed(parameter[..<sign])] = number(trimmed(parameter[parameter.index(after: sign)...]))
        }
        return found
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let front = text.drop { $0 == " " || $0 == "\t" }
        guard let last = front.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return front }
        return front[...last]
    }

    /// Parses leading digits: `100, 100;w=60` is 100, and `1.5` is 1. Returns `Int64.max` for a larger number.
    private static func number(_ text: some StringProtocol) -> Int64? {
        let digits = text.utf8.prefix(while: ASCII.isDigit)
        guard !digits.isEmpty else { return nil }
        return digits.reduce(Int64(0)) { sum, digit in
            let (product, overflow) = sum.multipliedReportingOverflow(by: 10)
            let (next, overflowToo) = product.addingReportingOverflow(Int64(digit & 0xF))
            return overflow || overflowToo ? .max : next
        }
    }
}

extension Headers {
    /// True if a field name begins with `RateLimit` or `X-RateLimit`. One pass, because most responses have no rate
    /// limit field.
    fileprivate var isRateLimitField: Bool {
        (0..<count).contains { index in
            withBytes(at: index) { name, _ in
                name.count >= 9
                    && (ASCII.isCaseless(UnsafeRawBufferPointer(rebasing: name[..<9]), "ratelimit")
                        || name.count >= 11
                            && ASCII.isCaseless(UnsafeRawBufferPointer(rebasing: name[..<11]), "x-ratelimit"))
            }
        }
    }
}

extension String {
    fileprivate var replacingCommas: String { String(map { $0 == "," ? ";" : $0 }) }
}

/// The time at which a response was generated, in seconds since 1970: the Date field, or `now` if the field is missing
/// or invalid.
private enum HTTPMoment {
    static func of(_ headers: Headers, now: Double) -> Int64 {
        if var text = headers["Date"], let date = text.withUTF8({ CookieDate.parse(UnsafeRawBufferPointer($0)) }) {
            return date
        }
        return Int64(max(0, min(now, 1e12)))
    }
}
