/// A decision that the client made during a call. Its description and ``json`` contain no secrets.
///
/// See ``Response/decisions`` and ``NightjarError/decisions``.
public struct Decision: Sendable, Equatable {
    /// The kind of a decision and its details.
    public enum Kind: Sendable, Equatable {
        /// The client decided to retry the request after a wait.
        case retried(cause: String, after: Duration)
        /// The client decided not to retry the request.
        case notRetried(cause: String, because: String)
        /// Equal calls shared one exchange.
        case coalesced(calls: Int)
        /// The call waited for a limit, or because a server requested a wait.
        case waited(Duration, for: String)
        /// The call waited for a token refresh. Calls that share a refresh report the same refresh number.
        case tokenAwaited(TokenCause, Duration, refresh: Int)
        /// The request was sent again with a newer token.
        case replayed
        /// The request was sent again in response to an authentication challenge.
        case challenged
        /// The caller decided a challenge of this kind, such as `http`, from this host. The choice is `default`,
        /// `password`, `certificate` or `cancel`.
        case challengeDecided(challenge: String, host: String, choice: String)
        case redirected(status: Int, method: Method, to: String)
        /// A decision of the cache, and the URL of the cache key.
        case cache(CacheVerdict, key: RequestURL)
        /// The response does not match its endpoint's description, and the client is configured to warn.
        case mismatched(problem: String)
        /// The server's certificate was not verified, because the client's configuration disables verification.
        case unverifiedTLS
        /// The TLS connection was opened without the hybrid key exchange, because a connection with it was reset.
        case classicalKeyExchange
        /// The client does not connect to some or all addresses of a host, because of the address filter or the callback
        /// that decides about addresses.
        case addressesDenied(AddressFilter.Denied)
        /// The request was sent in HTTP/1.1 although HTTP/2 is enabled.
        case usedHTTP1(because: String)
    }

    /// The reason why a call waited for a token refresh.
    public enum TokenCause: String, Sendable {
        case missing, expired, refused

        fileprivate var sentence: String {
            switch self {
            case .missing: "there was no token"
            case .expired: "the token had expired or was about to expire"
            case .refused: "the server refused the token (401)"
            }
        }
    }

    public let what: Kind
    /// The number of exchanges that had been started before the decision.
    public let attempt: Int
    /// The time from the start of the call to the decision.
    public let moment: Duration

    public init(_ what: Kind, attempt: Int, moment: Duration) {
        self.what = what
        self.attempt = attempt
        self.moment = moment
    }

    /// The name of the decision, as in ``json``.
    public var name: String {
        switch what {
        case .retried: "retried"
        case .notRetried: "not_retried"
        case .coalesced: "coalesced"
        case .waited: "waited"
        case .tokenAwaited: "token_awaited"
        case .replayed: "replayed"
        case .challenged, .challengeDecided: "challenged"
        case .redirected: "redirected"
        case .cache: "cache"
        case .mismatched: "mismatched"
        case .unverifiedTLS: "unverified_tls"
        case .classicalKeyExchange: "classical_key_exchange"
        case .addressesDenied: "addresses_denied"
        case .usedHTTP1: "used_http1"
        }
    }
}

/// The decision in one sentence.
extension Decision: CustomStringConvertible {
    public var description: String {
        "at \(moment.shortSeconds) s" + (attempt > 0 ? ", after attempt \(attempt): " : ": ") + sentence
    }

    private var sentence: String {
        switch what {
        case .retried(let cause, let wait): "\(cause); retried after \(wait.shortSeconds) s"
        case .notRetried(let cause, let reason): "\(cause); \(reason)"
        case .coalesced(let calls): "\(calls) equal calls shared one exchange"
        case .waited(let wait, let limit): "waited \(wait.shortSeconds) s for \(limit)"
        case .tokenAwaited(let cause, let wait, let refresh):
            "\(cause.sentence); waited \(wait.shortSeconds) s for refresh \(refresh) of this client"
        case .replayed: "sent again with the new token"
        case .challenged: "the server sent a challenge (401); sent again with credentials"
        case .challengeDecided(let challenge, let host, let choice):
            "the caller decided the challenge \(challenge) of \(host): \(choice)"
        case .redirected(let status, let method, let url): "redirected (\(status)) to \(method) \(url)"
        case .cache(let verdict, let key): "\(verdict.sentence) (cache key: \(key.redacted))"
        case .mismatched(let problem): problem
        case .unverifiedTLS: "the server's TLS certificate was not verified (tls.verify is false)"
        case .classicalKeyExchange:
            "the TLS connection has no post-quantum key exchange, because a connection with X25519MLKEM768 was reset"
        case .addressesDenied(let denied): denied.sentence
        case .usedHTTP1(let reason): "HTTP/1.1 was used: \(reason)"
        }
    }
}

/// The decision as data, for C and Lua.
extension Decision {
    /// An object with `decision`, `attempt`, `at` (seconds), `text` and members specific to the decision.
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
        case .replayed, .challenged, .unverifiedTLS, .classicalKeyExchange: break
        case .challengeDecided(let challenge, let host, let choice):
            add("challenge", .string(challenge))
            add("host", .string(host))
            add("choice", .string(choice))
        case .redirected(let status, let method, let url):
            add("status", .integer(Int64(status)))
            add("method", .string(method.name))
            add("url", .string(url))
        case .cache(let verdict, let key):
            add("verdict", .string(verdict.name))
            add("key", .string(key.redacted))
            if case .hit(_, let age) = verdict { add("age", .integer(age)) }
        case .mismatched(let problem): add("problem", .string(problem))
        case .addressesDenied(let denied):
            add("host", .string(denied.host))
            add("by", .string(denied.source.rawValue))
            add("candidates", .integer(Int64(denied.candidateCount)))
            add("denied", denied.json)
        case .usedHTTP1(let reason): add("because", .string(reason))
        }
        add("text", .string(description))
        return .object(members)
    }
}

extension Sequence<Decision> {
    /// The decisions as text, one per line.
    public var explanation: String {
        let lines = map(\.description)
        return lines.isEmpty
            ? "no decisions: the first result was returned" : lines.joined(separator: "\n")
    }
}

extension Duration {
    /// The duration in seconds with millisecond precision: `0.35`.
    var shortSeconds: String { "\((inSeconds * 1000).rounded() / 1000)" }
}
