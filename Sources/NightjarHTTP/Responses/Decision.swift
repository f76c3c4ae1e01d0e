/// One thing that was decided for a call: why it went as it did. See ``Response/decisions`` and
/// ``NightjarError/decisions``. No secret is in it.
public struct Decision: Sendable, Equatable {
    public enum What: Sendable, Equatable {
        /// Another attempt, after a wait.
        case retried(cause: String, after: Duration)
        /// The failure is the call's.
        case notRetried(cause: String, because: String)
        /// Calls that were alike shared one exchange.
        case coalesced(calls: Int)
        /// An exchange had to wait until it could begin.
        case waited(Duration, for: String)
        /// This call waited for a new token, with all others that wait for the same refresh: the client counts them.
        case tokenAwaited(TokenCause, Duration, refresh: Int)
        /// Sent again with a newer token.
        case replayed
        /// Sent again with an answer to the server's challenge.
        case challenged
        case redirected(status: Int, method: Method, to: String)
        /// What the cache had to say, which looked under this URL.
        case cache(CacheVerdict, key: RequestURL)
        /// The answer is not as its endpoint describes it, which the client was told to warn of.
        case mismatched(problem: String)
        /// The server's certificate was not verified, because the client does not.
        case unverifiedTLS
    }

    public enum TokenCause: String, Sendable {
        case missing, expired, refused

        fileprivate var sentence: String {
            switch self {
            case .missing: "there was no token yet"
            case .expired: "the token had run out"
            case .refused: "the server refused the token (401)"
            }
        }
    }

    public let what: What
    /// Times the request had been put on a connection by then.
    public let attempt: Int
    /// Since the call began.
    public let moment: Duration

    public init(_ what: What, attempt: Int, moment: Duration) {
        self.what = what
        self.attempt = attempt
        self.moment = moment
    }

    /// The name of what was decided, as in ``json``.
    public var name: String {
        switch what {
        case .retried: "retried"
        case .notRetried: "not_retried"
        case .coalesced: "coalesced"
        case .waited: "waited"
        case .tokenAwaited: "token_awaited"
        case .replayed: "replayed"
        case .challenged: "challenged"
        case .redirected: "redirected"
        case .cache: "cache"
        case .mismatched: "mismatched"
        case .unverifiedTLS: "unverified_tls"
        }
    }
}

/// A sentence.
extension Decision: CustomStringConvertible {
    public var description: String {
        "at \(moment.shortSeconds) s" + (attempt > 0 ? ", after attempt \(attempt): " : ": ") + sentence
    }

    private var sentence: String {
        switch what {
        case .retried(let cause, let wait): "\(cause); retried after \(wait.shortSeconds) s"
        case .notRetried(let cause, let reason): "\(cause); \(reason)"
        case .coalesced(let calls): "\(calls) calls that are alike shared one exchange"
        case .waited(let wait, let limit): "waited \(wait.shortSeconds) s for \(limit)"
        case .tokenAwaited(let cause, let wait, let refresh):
            "\(cause.sentence); waited \(wait.shortSeconds) s for refresh \(refresh) of this client"
        case .replayed: "sent again with the new token"
        case .challenged: "the server asked for a login (401); sent again with the answer to its challenge"
        case .redirected(let status, let method, let url): "redirected (\(status)) to \(method) \(url)"
        case .cache(let verdict, let key): "\(verdict.sentence) (cache key: \(key.redacted))"
        case .mismatched(let problem): problem
        case .unverifiedTLS: "the server's TLS certificate was not verified (tls.verify is false)"
        }
    }
}

/// As data, for C and Lua.
extension Decision {
    /// An object of `decision`, `attempt`, `at` (seconds), `text` and what belongs to the decision.
    public var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("decision", .string(name)), .init("attempt", .integer(Int64(attempt))),
            .init("at", .number(moment.inSeconds)),
        ]
        func add(_ name: String, _ value: JSONValue) { members.append(.init(name, value)) }
        switch what {
        case .retried(let cause, let wait):
            add("cause", .string(cause))
            add("after", .number(wait.inSeconds))
        case .notRetried(let cause, let reason):
            add("cause", .string(cause))
            add("because", .string(reason))
        case .coalesced(let calls): add("calls", .integer(Int64(calls)))
        case .waited(let wait, let limit):
            add("waited", .number(wait.inSeconds))
            add("limit", .string(limit))
        case .tokenAwaited(let cause, let wait, let refresh):
            add("cause", .string(cause.rawValue))
            add("waited", .number(wait.inSeconds))
            add("refresh", .integer(Int64(refresh)))
        case .replayed, .challenged, .unverifiedTLS: break
        case .redirected(let status, let method, let url):
            add("status", .integer(Int64(status)))
            add("method", .string(method.name))
            add("url", .string(url))
        case .cache(let verdict, let key):
            add("verdict", .string(verdict.name))
            add("key", .string(key.redacted))
            if case .answered(_, let age) = verdict { add("age", .integer(age)) }
        case .mismatched(let problem): add("problem", .string(problem))
        }
        add("text", .string(description))
        return .object(members)
    }
}

extension Sequence<Decision> {
    /// A sentence a line; a line that says so when nothing had to be decided.
    public var explanation: String {
        let lines = map(\.description)
        return lines.isEmpty
            ? "nothing had to be decided: the first answer was the call's" : lines.joined(separator: "\n")
    }
}

extension Duration {
    /// To the millisecond: `0.35`.
    var shortSeconds: String { "\((inSeconds * 1000).rounded() / 1000)" }
}
