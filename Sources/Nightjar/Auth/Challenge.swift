import NightjarHTTP
import NightjarTransport
import Synchronization

extension Authentication {
    /// A callback that decides challenges; see ``Configuration/onChallenge``.
    public final class ChallengeHandler: Sendable {
        let decide: @Sendable (Challenge) -> Void
        let place: DecisionPlace

        /// - Parameters:
        ///   - runsOnLoop: If true, the callback runs on the client's loop thread and must not block. If false, it runs
        ///     on the first polled queue of the calls that wait for the decision. If a waiting call has no queue, the
        ///     callback runs on the loop thread.
        ///   - decide: Responds to the challenge, at once or later. If it releases the challenge without a response,
        ///     the default applies.
        public init(runsOnLoop: Bool = true, _ decide: @escaping @Sendable (Challenge) -> Void) {
            place = runsOnLoop ? .loop : .queues
            self.decide = decide
        }

        /// Creates a callback that never runs on the loop thread. For a call that the client sends itself, it runs on the
        /// first polled queue of the client's calls. If there is none, a chain is rejected, and no certificate is sent.
        package static func onQueues(_ decide: @escaping @Sendable (Challenge) -> Void) -> ChallengeHandler {
            ChallengeHandler(at: .queuesOnly(nil), decide)
        }

        private init(at place: DecisionPlace, _ decide: @escaping @Sendable (Challenge) -> Void) {
            self.place = place
            self.decide = decide
        }
    }

    /// A server or proxy requires authentication, or has authenticated itself.
    public final class Challenge: Sendable {
        public enum Kind: Sendable, Equatable {
            /// The server has responded with 401. The scheme is `Basic` or `Digest`. The realm is empty if the server
            /// has sent none.
            case http(scheme: String, realm: String)
            /// The server requests a client certificate, and none is configured for it. The names of the certificate
            /// authorities that the server accepts are in the form of RFC 2253, and empty if the server has sent none.
            case clientCertificate(authorities: [String])
            /// The server's certificates, its own first. The chain is valid and contains a pinned key if the host has
            /// pins. Nothing has been sent to the server yet except the TLS handshake.
            case serverTrust(chain: [TLSDetails.Certificate])
        }

        public enum Response: Sendable, CustomStringConvertible, CustomReflectable {
            /// Continue without credentials: a 401 response is delivered, a requested certificate is not sent, and a
            /// valid chain is accepted.
            case useDefault
            /// Repeat the request with these credentials. Only for ``Kind/http(scheme:realm:)``.
            case password(user: String, password: String)
            /// Send this certificate. Only for ``Kind/clientCertificate(authorities:)``.
            case certificate(TransportConfiguration.TLS.ClientCertificate)
            /// Fail with `cancelled`. The text is appended to the error message.
            case cancel(String?)

            var choice: String {
                switch self {
                case .useDefault: "default"
                case .password: "password"
                case .certificate: "certificate"
                case .cancel: "cancel"
                }
            }
            public var description: String { "\(choice) ***" }
            public var customMirror: Mirror { Mirror(self, children: []) }
        }

        struct Details: Sendable {
            var kind: Kind
            var host: String
            var port: Int
            var isProxy = false
            var isEncrypted = true
            var rejections = 0
        }

        let details: Details
        private let submit: @Sendable (Response) -> Void
        private let forkGeneration = Fork.generation
        private let hasResponse = Atomic<Bool>(false)

        public var kind: Kind { details.kind }
        /// The name or the address of the server or proxy.
        public var host: String { details.host }
        public var port: Int { details.port }
        /// Whether a proxy has sent the challenge.
        public var isProxy: Bool { details.isProxy }
        /// Whether the connection uses TLS. If false, others on the network can read a password that is sent with
        /// `Basic`.
        public var isEncrypted: Bool { details.isEncrypted }
        /// The number of credentials that the server has rejected before in this call.
        public var rejections: Int { details.rejections }

        /// - Parameter submit: Submits the response to the client's loop.
        init(_ details: Details, submit: @escaping @Sendable (Response) -> Void) {
            self.details = details
            self.submit = submit
        }

        deinit {
            if !hasResponse.load(ordering: .relaxed) { submit(.useDefault) }
        }

        /// Responds to the challenge. Any thread may call this method.
        ///
        /// - Throws: `invalid_argument` for a response that does not fit the kind, for a user name with a colon for
        ///   `Basic`, and if the challenge already has a response; `forked`. The challenge stays pending if the response
        ///   does not fit.
        public func respond(_ response: Response) throws(NightjarError) {
            guard !Fork.hasForked(since: forkGeneration) else {
                throw NightjarError(.forked, "this challenge belongs to the parent process")
            }
            try check(response)
            guard !hasResponse.exchange(true, ordering: .relaxed) else {
                throw NightjarError(.invalidArgument, "the challenge already has a response")
            }
            submit(response)
        }

        private func check(_ response: Response) throws(NightjarError) {
            switch (response, kind) {
            case (.useDefault, _), (.cancel, _), (.certificate, .clientCertificate): break
            case (.password(let user, _), .http(let scheme, _)):
                guard scheme != PasswordOffer.Scheme.basic.rawValue || !user.utf8.contains(UInt8(ascii: ":")) else {
                    throw NightjarError(
                        .invalidArgument,
                        "the user name for Basic authentication contains a colon (RFC 7617 section 2)")
                }
            case (.password, _), (.certificate, _):
                throw NightjarError(
                    .invalidArgument,
                    "a \(response.choice) is no response to a challenge of the kind \(details.kindName); it can be "
                        + "\(details.choices)")
            }
        }
    }
}

extension Authentication.Challenge.Details {
    /// The name of the kind in C, Lua and ``Response/decisions``.
    var kindName: String {
        switch kind {
        case .http: "http"
        case .clientCertificate: "client_certificate"
        case .serverTrust: "server_trust"
        }
    }

    fileprivate var choices: String {
        switch kind {
        case .http: "the default, a password or a cancellation"
        case .clientCertificate: "the default, a certificate or a cancellation"
        case .serverTrust: "the default or a cancellation"
        }
    }

    /// The error of the calls after ``Authentication/Challenge/Response/cancel(_:)``.
    func cancelled(_ message: String?, phase: ErrorPhase) -> NightjarError {
        let what =
            switch kind {
            case .http(let scheme, _): "the request for \(scheme) authentication"
            case .clientCertificate: "the request for a client certificate"
            case .serverTrust: "the certificate"
            }
        let why = message.map { ": \($0)" } ?? ""
        return NightjarError(
            .cancelled, "the challenge callback rejected \(what) of \(host):\(port)\(why)", phase: phase)
    }

    /// Returns the decision for the calls that waited.
    func decision(_ response: Authentication.Challenge.Response) -> Decision.Kind {
        .challengeDecided(challenge: kindName, host: "\(host):\(port)", choice: response.choice)
    }
}

extension Authentication.Challenge {
    /// The name of the kind: `http`, `client_certificate` or `server_trust`.
    package var kindName: String { details.kindName }

    /// The challenge as the JSON object that Lua and C programs receive.
    package var jsonText: String {
        var members = [
            JSONValue.Member("kind", .string(kindName)), JSONValue.Member("host", .string(host)),
            JSONValue.Member("port", .integer(Int64(port))), JSONValue.Member("proxy", .bool(isProxy)),
            JSONValue.Member("encrypted", .bool(isEncrypted)),
        ]
        switch kind {
        case .http(let scheme, let realm):
            members.append(JSONValue.Member("scheme", .string(scheme)))
            members.append(JSONValue.Member("realm", .string(realm)))
            members.append(JSONValue.Member("rejections", .integer(Int64(rejections))))
        case .clientCertificate(let authorities):
            members.append(JSONValue.Member("authorities", .array(authorities.map(JSONValue.string))))
        case .serverTrust(let chain): members.append(JSONValue.Member("chain", .array(chain.map(\.json))))
        }
        return (try? JSONValue.object(members).encoded()).map { String(buffer: $0) } ?? "{}"
    }
}
