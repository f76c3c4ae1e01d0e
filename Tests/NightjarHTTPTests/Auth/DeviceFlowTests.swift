import Testing

@testable import NightjarHTTP

@Suite struct DeviceFlowTests {
    private static let second: UInt64 = 1_000_000_000
    private static let response =
        #"{"device_code":"dc","user_code":"WD-JB","verification_uri":"https://a.test/d","expires_in":60,"interval":3}"#

    private func authorization(_ text: String = response, status: Int = 200) throws -> DeviceAuthorization {
        try Array(text.utf8).withUnsafeBytes { try DeviceAuthorization(status: status, body: $0) }
    }

    /// Returns a flow that began at 0 and has sent its first poll after 3 seconds.
    private func waitingFlow() throws -> DeviceFlow {
        var flow = DeviceFlow(try authorization())
        #expect(
            flow.begin(now: 0) == [
                .show(userCode: "WD-JB", page: "https://a.test/d", completePage: nil), .startTimer(.seconds(3)),
            ])
        #expect(flow.timerFired(now: 3 * Self.second) == [.poll(deviceCode: "dc")])
        return flow
    }

    private func refusal(_ code: String) -> Result<TokenResponse, NightjarError> {
        .success(.refused(TokenResponse.Refusal(code: code)))
    }

    @Test func pollingContinuesUntilTheUserDecides() throws {
        var flow = try waitingFlow()
        #expect(flow.received(refusal("authorization_pending"), now: 3 * Self.second) == [.startTimer(.seconds(3))])
        #expect(flow.timerFired(now: 6 * Self.second) == [.poll(deviceCode: "dc")])
        let token = Token(access: "a")
        #expect(flow.received(.success(.token(token)), now: 6 * Self.second) == [.done(token)])
        // Late events have no effect.
        #expect(flow.timerFired(now: 9 * Self.second) == [] && flow.begin(now: 0) == [])
        #expect(flow.received(.success(.token(token)), now: 9 * Self.second) == [])
    }

    @Test func slowDownIncreasesTheIntervalPermanently() throws {
        var flow = try waitingFlow()
        #expect(flow.received(refusal("slow_down"), now: 3 * Self.second) == [.startTimer(.seconds(8))])
        #expect(flow.timerFired(now: 11 * Self.second) == [.poll(deviceCode: "dc")])
        #expect(flow.received(refusal("slow_down"), now: 11 * Self.second) == [.startTimer(.seconds(13))])
        #expect(flow.timerFired(now: 24 * Self.second) == [.poll(deviceCode: "dc")])
        #expect(flow.received(refusal("authorization_pending"), now: 24 * Self.second) == [.startTimer(.seconds(13))])
    }

    @Test func failedPollsIncreaseTheInterval() throws {
        var flow = try waitingFlow()
        var now = 3 * Self.second
        let late = NightjarError(.timeout, "late", phase: .connect)
        for wait in [6, 12, 24] as [UInt64] {
            #expect(flow.received(.failure(late), now: now) == [.startTimer(.seconds(Int64(wait)))])
            now += wait * Self.second
            #expect(flow.timerFired(now: now) == [.poll(deviceCode: "dc")])
        }
        #expect(flow.received(refusal("authorization_pending"), now: now) == [.startTimer(.seconds(3))])
        now += 3 * Self.second
        #expect(flow.timerFired(now: now) == [.poll(deviceCode: "dc")])
        let busy = NightjarError(.rateLimited, "busy", retryAfter: .seconds(9))
        #expect(flow.received(.failure(busy), now: now) == [.startTimer(.seconds(9))])
    }

    @Test(arguments: [
        ("access_denied", DeviceFlow.Reason.denied), ("expired_token", .expired),
        ("invalid_client", .refused(TokenResponse.Refusal(code: "invalid_client"))),
    ])
    func denialEndsTheFlow(code: String, reason: DeviceFlow.Reason) throws {
        var flow = try waitingFlow()
        #expect(flow.received(refusal(code), now: 3 * Self.second) == [.fail(reason)])
        #expect(flow.timerFired(now: 6 * Self.second) == [])
        #expect(reason.error.kind == .unauthorized)
    }

    @Test func permanentErrorEndsTheFlow() throws {
        var flow = try waitingFlow()
        let actions = flow.received(.failure(NightjarError(.tls, "no")), now: 3 * Self.second)
        #expect(actions == [.fail(.failed(.tls, "no"))])
    }

    @Test func codeExpires() throws {
        var flow = try waitingFlow()
        #expect(flow.received(refusal("authorization_pending"), now: 59 * Self.second) == [.startTimer(.seconds(1))])
        #expect(flow.timerFired(now: 60 * Self.second) == [.fail(.expired)])
    }

    // MARK: The authorization

    @Test func missingMembersHaveDefaults() throws {
        let authorization = try authorization(
            #"{"device_code":"dc","user_code":"u","verification_url":"https://a.test/d"}"#)
        #expect(authorization.interval == .seconds(5) && authorization.lifetime == .seconds(900))
        #expect(authorization.completePage == nil && authorization.page == "https://a.test/d")
    }

    @Test(arguments: [
        ("{}", 200, ErrorKind.decoding), ("no", 200, .decoding), (#"{"error":"invalid_client"}"#, 401, .unauthorized),
        (response, 500, .decoding),
        (#"{"device_code":"dc","user_code":"\u001b[2J","verification_uri":"https://a.test"}"#, 200, .decoding),
        (#"{"device_code":"dc","user_code":"u","verification_uri":"file:///etc/passwd"}"#, 200, .decoding),
    ])
    func invalidResponseIsRejected(text: String, status: Int, kind: ErrorKind) throws {
        let error = #expect(throws: NightjarError.self) { try authorization(text, status: status) }
        #expect(error?.kind == kind)
    }

    @Test func deviceCodeIsMasked() throws {
        let authorization = try authorization(Self.response.replacing("\"dc\"", with: "\"secret\""))
        var text = ""
        dump(authorization, to: &text)
        text += "\(authorization) \(DeviceFlow.Action.poll(deviceCode: "secret"))"
        #expect(!text.contains("secret"))
    }
}
