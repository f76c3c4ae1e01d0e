/// What an answer says about how many more requests its server will take.
///
/// Read are `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers, of version 8 and later and of
/// version 7), `RateLimit-Limit`, `-Remaining` and `-Reset` (earlier versions), and the same with `X-` before them.
struct RateLimitFields: Equatable {
    /// Requests that a whole window admits, where that is said.
    var quota: Int?
    var remaining: Int
    /// From now until the window ends.
    var reset: Duration

    /// Written out, for names put together would cost each answer an allocation.
    private static let names: [(quota: String, remaining: String, reset: String)] = [
        ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"),
        ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"),
    ]

    /// 31 days, in seconds: the quota of a month. A longer window is taken for one of this length.
    private static let longestReset: Int64 = 31 * 86_400

    /// - Parameter now: seconds since 1970, for a server that names the moment and not the time of its answer.
    /// - Returns: nil where nothing, or not enough, is said.
    init?(_ headers: Headers, now: @autoclosure () -> Double) {
        guard headers.mayTellRateLimit else { return nil }
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

    /// `"burst";r=0;t=3, "day";r=900;t=60000` or `limit=10, remaining=3, reset=50`: the one that leaves the least.
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

    /// A number beyond 30 years is no length of time: it is a moment since 1970, in seconds, or beyond 30 millennia of
    /// those in milliseconds.
    private static func reset(_ number: Int64, sentAt: Int64) -> Duration {
        guard number > 1_000_000_000 else { return .seconds(min(number, longestReset)) }
        let moment = number > 1_000_000_000_000 ? number / 1000 : number
        return .seconds(min(max(moment - sentAt, 0), longestReset))
    }

    private static func name(_ item: Substring) -> Substring {
        trimmed(item.prefix { $0 != ";" })
    }

    /// Those with a number, `;`-separated.
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

    /// Digits at the front: `100, 100;w=60` says 100, and the fraction of `1.5` is dropped. One beyond 64 bits is cut.
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
    /// Whether a name begins as those above do: most answers have none, and that is found out in one pass.
    fileprivate var mayTellRateLimit: Bool {
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

/// When an answer was made, by its server's clock where that is told.
private enum HTTPMoment {
    static func of(_ headers: Headers, now: Double) -> Int64 {
        if var text = headers["Date"], let date = text.withUTF8({ CookieDate.parse(UnsafeRawBufferPointer($0)) }) {
            return date
        }
        return Int64(max(0, min(now, 1e12)))
    }
}
