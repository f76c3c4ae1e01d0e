import Nightjar
import NightjarTestSupport
import Testing

/// Retry-After, and the option to ignore it.
@Suite struct RetryAfterTests {
    private func respondWithRetryAfter(_ status: String, _ value: String) -> ScriptedPeer.Step {
        .respond(status, headers: ["Retry-After: \(value)"])
    }

    private func status(_ api: Client, _ target: String) -> String {
        do throws(NightjarError) {
            return "\(try api.sendBlocking(Request(.get, target)).status)"
        } catch {
            return error.status.map { "\($0)" } ?? error.kind.name
        }
    }

    /// An unavailable resource does not block other resources of the same origin.
    @Test(arguments: ["503 Service Unavailable", "429 Too Many Requests"])
    func longPauseAppliesToItsResource(refusal: String) throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, respondWithRetryAfter(refusal, "86400"),
                .untilClosed([.expectRequest, .respond(body: "ok")]),
            ]
        ])
        let api = try client(of: peer)
        #expect(status(api, "/down") == String(refusal.prefix(3)))
        #expect(status(api, "/up") == "200" && status(api, "/down?other=1") == "200")
        let error = try failure(api, Request(.get, "/down"))
        #expect(error.kind == .rateLimited && error.attempts == 0)
        #expect((error.retryAfter ?? .zero) > .seconds(86_000))
        #expect(error.message.contains("respect_retry_after"))
        #expect(api.limitStates().map(\.name) == ["http://127.0.0.1:\(peer.port)/down"])
        #expect(peer.requests.map(\.target) == ["/down", "/up", "/down?other=1"])
    }

    @Test func short503PausesOnlyItsResource() throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, respondWithRetryAfter("503 Busy", "1"),
                .untilClosed([.expectRequest, .respond(body: "ok")]),
            ]
        ])
        let api = try client(of: peer)
        let start = ContinuousClock.now
        #expect(status(api, "/a") == "503" && status(api, "/b") == "200")
        #expect(ContinuousClock.now - start < .milliseconds(900))
        let response = try api.sendBlocking(Request(.get, "/a"))
        #expect(ContinuousClock.now - start >= .milliseconds(950))
        #expect(response.decisions.contains { $0.name == "waited" && $0.description.contains("(Retry-After)") })
    }

    @Test(arguments: ["soon", "-1", "99999999999999999999", "1700000000", "Wed, 21 Oct 2099 07:28:30 GMT"])
    func absurdValueIsIgnored(value: String) throws {
        for refusal in ["429 Too Many Requests", "503 Busy"] {
            let peer = try ScriptedPeer([
                [
                    .expectRequest, respondWithRetryAfter(refusal, value),
                    .untilClosed([.expectRequest, .respond(body: "ok")]),
                ]
            ])
            let api = try client(of: peer)
            #expect(status(api, "/a") == String(refusal.prefix(3)))
            #expect(status(api, "/a") == "200" && status(api, "/b") == "200")
        }
    }

    /// The option can be set for a client and for a call.
    @Test(arguments: ["429 Too Many Requests", "503 Busy"], ["20", "3600"])
    func disabledOptionIgnoresPauses(refusal: String, value: String) throws {
        let script: [ScriptedPeer.Step] = [
            .expectRequest, respondWithRetryAfter(refusal, value),
            .untilClosed([.expectRequest, .respond(body: "ok")]),
        ]
        let peer = try ScriptedPeer([script, script])
        let careless = try client(of: peer) { try? $0.merge(json: #"{"respect_retry_after": false}"#) }
        #expect(status(careless, "/a") == String(refusal.prefix(3)))
        #expect(status(careless, "/a") == "200" && careless.limitStates().isEmpty)
        careless.close()

        let careful = try client(of: peer)
        #expect(status(careful, "/a") == String(refusal.prefix(3)))
        var hasty = Request(.get, "/a")
        hasty.timeouts.total = .seconds(5)
        if value == "3600" {
            #expect(try failure(careful, hasty).kind == .rateLimited)
        }
        try hasty.merge(json: #"{"respect_retry_after": false}"#)
        #expect(try careful.sendBlocking(hasty).status == 200)
        // The successful call has ended the pause for all calls.
        #expect(status(careful, "/a") == "200")
    }

    @Test func disabledOptionAppliesToRetries() throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, respondWithRetryAfter("503 Busy", "30"),
                .untilClosed([.expectRequest, .respond(body: "ok")]),
            ]
        ])
        let api = try client(of: peer) {
            $0.retry.maximumAttempts = 2
            $0.retry.base = .milliseconds(1)
            $0.respectsRetryAfter = false
        }
        let response = try api.sendBlocking(Request(.get, "/a"))
        #expect(response.status == 200 && response.attempts == 2)
    }

    // MARK: Redirects

    private func polls(_ value: String, times: Int) -> [ScriptedPeer.Step] {
        (0..<times).flatMap { _ in
            [.expectRequest, .respond("303 See Other", headers: ["Location: /job", "Retry-After: \(value)"])]
        } + [.expectRequest, .respond(body: "done")]
    }

    @Test func redirectToItselfWithRetryAfterPolls() throws {
        let peer = try ScriptedPeer([polls("0", times: 8)])
        let response = try client(of: peer).sendBlocking(Request(.post, "/job", body: "x"))
        #expect(response.text == "done" && response.redirects.count == 8)
        #expect(peer.requests.map(\.method) == ["POST"] + Array(repeating: "GET", count: 8))
    }

    @Test func redirectIsFollowedAfterItsRetryAfter() throws {
        let peer = try ScriptedPeer([polls("1", times: 1)])
        let start = ContinuousClock.now
        let response = try client(of: peer).sendBlocking(Request(.get, "/job"))
        #expect(response.text == "done" && ContinuousClock.now - start >= .milliseconds(950))
    }

    @Test func redirectWithTooLongRetryAfterFailsImmediately() throws {
        let peer = try ScriptedPeer([polls("30", times: 1)], repeatsLast: true)
        let api = try client(of: peer)
        let start = ContinuousClock.now
        let late = try failure(api, Request(.get, "/job"))
        #expect(late.kind == .timeout && late.phase == .total && late.retryAfter == .seconds(30))
        #expect(ContinuousClock.now - start < .seconds(5))
    }
}
