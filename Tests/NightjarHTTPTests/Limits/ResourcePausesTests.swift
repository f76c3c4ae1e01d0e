import Testing

@testable import NightjarHTTP

/// Pauses that servers request for one resource.
@Suite struct ResourcePausesTests {
    private static let second: UInt64 = 1_000_000_000

    @Test(arguments: [
        (429, 60, PauseScope.origin), (429, 61, .resource), (503, 1, .resource), (503, 3600, .resource), (500, 1, nil),
        (301, 1, nil), (200, 1, nil),
    ])
    func pauseAppliesToTheOriginOrTheResource(status: Int, seconds: Int, scope: PauseScope?) {
        #expect(PauseScope(status: status, wait: .seconds(seconds), longestWait: .seconds(60)) == scope)
    }

    @Test func pauseAppliesToOneURL() throws {
        var pauses = ResourcePauses()
        let url = try RequestURL("http://a/x?page=1")
        let same = ResourcePauses.Resource(try RequestURL("http://a/x?page=1"))
        #expect(pauses.isEmpty)
        pauses.pause(url, for: .seconds(5), now: 0)
        #expect(pauses.wait(for: same, now: 0) == .seconds(5))
        let others = [
            "http://a/x", "http://a/x?page=2", "http://b/x?page=1", "https://a/x?page=1", "http://a:81/x?page=1",
        ]
        for other in others {
            #expect(pauses.wait(for: .init(try RequestURL(other)), now: 0) == nil, "\(other)")
        }
        // A shorter pause does not shorten the existing pause.
        pauses.pause(url, for: .seconds(1), now: Self.second)
        #expect(pauses.wait(for: same, now: 4 * Self.second) == .seconds(1))
        #expect(pauses.wait(for: same, now: 5 * Self.second) == nil)
        #expect(pauses.isEmpty)
    }

    @Test func successEndsThePause() throws {
        var pauses = ResourcePauses()
        let url = try RequestURL("http://a/x")
        pauses.pause(url, for: .seconds(86_400), now: 0)
        #expect(pauses.succeeded(.init(try RequestURL("http://a/y"))) == false)
        #expect(pauses.succeeded(.init(url)) == true && pauses.succeeded(.init(url)) == false)
        #expect(pauses.wait(for: .init(url), now: 0) == nil)
    }

    @Test func pausesAreBounded() throws {
        var pauses = ResourcePauses()
        let first = try RequestURL("http://a/0")
        for index in 0..<3 * ResourcePauses.maximumCount {
            pauses.pause(try RequestURL("http://a/\(index)"), for: .seconds(index + 1), now: 0)
        }
        #expect(pauses.all(now: 0).count == ResourcePauses.maximumCount)
        #expect(pauses.wait(for: .init(first), now: 0) == nil)
        pauses.pause(first, for: .seconds(Int64.max), now: .max)
        #expect(pauses.wait(for: .init(first), now: .max) == nil)
    }
}
