import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarTransport

/// The instructions that an interactive login shows to the user.
public enum LoginPrompt: Sendable, Equatable {
    /// A code that the user enters on a page, on any device. `completePage` already contains the code.
    case device(userCode: String, page: String, completePage: String?)
    /// A page that the user opens in a browser on this machine.
    case browser(url: String)
}

/// Logs a client in. The login is interactive if the grant requires a person.
final class InteractiveLogin: ClientOperation, @unchecked Sendable {
    private let login: TokenLogin
    private let session: TokenManager?
    private let issuer: TokenIssuer?
    private let prompt: @Sendable (LoginPrompt) -> Void
    private var device: DeviceFlow?
    private var browser: AuthorizationCode?
    private var listener: LoopbackListener?

    /// The callbacks of a login.
    struct Handlers {
        /// The queue of the callbacks; nil: the loop.
        let queue: CompletionQueue?
        let prompt: @Sendable (LoginPrompt) -> Void
        let finished: @Sendable (Result<Void, NightjarError>) -> Void
    }

    init(
        _ login: TokenLogin, _ session: TokenManager?, _ issuer: TokenIssuer?, on loop: ClientLoop,
        timeout: Duration?, _ handlers: Handlers
    ) {
        self.login = login
        self.session = session
        self.issuer = issuer
        prompt = handlers.prompt
        super.init("the login", on: loop, queue: handlers.queue, timeout: timeout, finished: handlers.finished)
    }

    override func begin() {
        guard let issuer, case .oauth2(let server) = login.source else { return refresh() }
        switch server.grant {
        case .refreshToken, .clientCredentials: refresh()
        case .deviceCode: requestDeviceCode(server, issuer)
        case .authorizationCode: listen(server, issuer)
        }
    }

    override func released() {
        listener?.close()
        listener = nil
        device = nil
        browser = nil
    }

    // MARK: Without a person

    /// Obtains the token that a call would wait for.
    private func refresh() {
        guard let session else { return end(.success(())) }
        session.refreshNow { [weak self] result in self?.end(result) }
    }

    // MARK: With another device

    private func requestDeviceCode(_ server: OAuth2, _ issuer: TokenIssuer) {
        let request = OAuthRequest.deviceAuthorization(scope: server.scope, client: server.client)
        send(request, to: server.deviceURL, issuer) { [self] response throws(NightjarError) in
            let authorization = try response.body.withUnsafeReadableBytes { bytes throws(NightjarError) in
                try DeviceAuthorization(status: response.status, body: bytes)
            }
            var flow = DeviceFlow(authorization)
            let actions = flow.begin(now: now)
            device = flow
            perform(actions, server, issuer)
        }
    }

    private func perform(_ actions: [DeviceFlow.Action], _ server: OAuth2, _ issuer: TokenIssuer) {
        for action in actions {
            switch action {
            case .show(let code, let page, let complete):
                show(.device(userCode: code, page: page, completePage: complete))
            case .startTimer(let wait):
                loop.after(wait) { [weak self] in
                    guard let self, let actions = device?.timerFired(now: now) else { return }
                    perform(actions, server, issuer)
                }
            case .poll(let code): requestToken(code, server, issuer)
            case .done(let token): setToken(token)
            case .fail(let reason): end(.failure(reason.error))
            }
        }
    }

    private func requestToken(_ code: String, _ server: OAuth2, _ issuer: TokenIssuer) {
        let sent = WallClock.now()
        attempt(OAuthRequest.deviceCode(code, client: server.client), to: nil, issuer) { [weak self] result in
            guard let self else { return }
            let tokenResponse = Result { () throws(NightjarError) -> TokenResponse in
                try TokenResponseFormat.oauth2(server.lifetimeUnit).read(
                    try result.get(), replacing: nil, sent: sent, for: loop)
            }
            guard let actions = device?.received(tokenResponse, now: now) else { return }
            perform(actions, server, issuer)
        }
    }

    // MARK: With a browser

    private func listen(_ server: OAuth2, _ issuer: TokenIssuer) {
        LoopbackListener.open(
            on: loop.eventLoop,
            { [weak self] method, target in
                guard let self else { return LoopbackListener.Reply(ByteBuffer()) }
                return requested(method, target, server, issuer)
            },
            then: { [weak self] result in
                switch result {
                case .success(let listener): self?.listens(listener, server, issuer) ?? listener.close()
                case .failure(let error): self?.end(.failure(error))
                }
            })
    }

    private func listens(_ listener: LoopbackListener, _ server: OAuth2, _ issuer: TokenIssuer) {
        guard !hasEnded else { return listener.close() }
        self.listener = listener
        do throws(NightjarError) {
            let random = SecureRandom.bytes(ProofKey.randomByteCount)
            guard let proof = ProofKey(random: random, sha256: Digest.sha256) else {
                throw NightjarError(.invalidRequest, "creating the PKCE proof key failed")
            }
            let flow = AuthorizationCode(
                clientID: server.client.id, scope: server.scope, port: listener.port,
                random: SecureRandom.bytes(AuthorizationCode.randomByteCount), proof: proof, issuer: server.issuer)
            browser = flow
            show(.browser(url: try flow.authorizationURL(at: try issuer.address(of: server.authorizeURL ?? ""))))
        } catch {
            end(.failure(error))
        }
    }

    /// Responds to a request of the browser. The outcome of the request is handled after the reply has been sent or the
    /// browser's connection is lost.
    private func requested(
        _ method: NightjarHTTP.Method, _ target: String, _ server: OAuth2, _ issuer: TokenIssuer
    ) -> LoopbackListener.Reply {
        guard let browserResult = browser?.requested(method, target) else {
            return LoopbackListener.Reply(ByteBuffer())
        }
        return LoopbackListener.Reply(browserResult.reply.bytes) { [weak self] in
            switch browserResult.outcome {
            case nil: break
            case .failed(let reason): self?.end(.failure(reason.error))
            case .code(let code): self?.redeem(code, server, issuer)
            }
        }
    }

    private func redeem(_ code: String, _ server: OAuth2, _ issuer: TokenIssuer) {
        guard let browser else { return }
        let sent = WallClock.now()
        send(browser.exchange(code, client: server.client), to: nil, issuer) { [self] response throws(NightjarError) in
            let format = TokenResponseFormat.oauth2(server.lifetimeUnit)
            switch try format.read(response, replacing: nil, sent: sent, for: loop) {
            case .token(let token): setToken(token)
            case .refused(let refusal): throw refusal.error
            }
        }
    }

    // MARK: Steps

    /// Sends a request of the login. A failure ends this operation.
    private func send(
        _ request: OAuthRequest, to target: String?, _ issuer: TokenIssuer,
        then next: @escaping (Response) throws(NightjarError) -> Void
    ) {
        attempt(request, to: target, issuer) { [weak self] result in
            guard let self, !hasEnded else { return }
            do throws(NightjarError) {
                try next(try result.get())
            } catch {
                end(.failure(error))
            }
        }
    }

    private func attempt(
        _ request: OAuthRequest, to target: String?, _ issuer: TokenIssuer,
        then next: @escaping (Result<Response, NightjarError>) -> Void
    ) {
        guard !hasEnded else { return }
        do throws(NightjarError) {
            let prepared = try issuer.prepared(request, to: target, key: nil)
            loop.send(prepared, within: InteractiveLogin.exchangeLimit, completion: next)
        } catch {
            next(.failure(error))
        }
    }

    private func show(_ prompt: LoginPrompt) {
        guard !hasEnded else { return }
        loop.post(.run { [self] in if !isCancelled { self.prompt(prompt) } }, to: queue)
    }

    /// Replaces the client's token. Ends this operation when the token has been saved, or when saving has failed.
    private func setToken(_ token: Token) {
        guard token.authorization != nil else {
            return end(
                .failure(
                    NightjarError(
                        .decoding,
                        "the login failed: the server's token or its type contains a character that is not "
                            + "allowed in a header")))
        }
        session?.setToken(token) { [weak self] error in
            self?.end(error.map(Result.failure) ?? .success(()))
        }
    }

    private var now: UInt64 { NIODeadline.now().uptimeNanoseconds }

    private static let exchangeLimit = Duration.seconds(60)
}

extension OAuthRequest.ClientAuthentication {
    fileprivate var id: String {
        switch self {
        case .unnamed: ""
        case .none(let id), .basic(let id, _), .post(let id, _): id
        }
    }
}
