import Testing

@testable import NightjarHTTP
@testable import NightjarTesting

@Suite struct LinkConditionerTests {
    private func origin(_ url: String) throws -> Origin { try RequestURL(url).origin }

    @Test func sameSeedHasTheSameDelays() throws {
        func plan(seed: UInt64) throws -> [LinkConditioner.ConnectionPlan] {
            var profile = try #require(NetworkProfile.named("lossy"))
            profile.seed = seed
            var link = LinkConditioner(profile)
            let origin = try origin("https://x")
            return (0..<200).map { _ in link.begin(to: origin) }
        }
        #expect(try plan(seed: 7) == plan(seed: 7))
        #expect(try plan(seed: 7) != plan(seed: 8))
        let broken = try plan(seed: 7).filter { $0.breaks != nil }.count
        #expect((5...40).contains(broken), "of 200 exchanges 20 should break, not \(broken)")
    }

    @Test func firstExchangeIncludesTheConnection() throws {
        var link = LinkConditioner(NetworkProfile(latency: .milliseconds(300)))
        #expect(link.begin(to: try origin("http://x")).opening == .milliseconds(300))
        #expect(link.begin(to: try origin("http://x")).opening == .zero)
        #expect(link.begin(to: try origin("https://x")).opening == .milliseconds(600))
        #expect(link.begin(to: try origin("https://x")).half == .milliseconds(150))
    }

    @Test func allExchangesShareTheLink() throws {
        var link = LinkConditioner(NetworkProfile(down: 1000, up: 500))
        #expect(link.receive(100, at: 0) == 100_000_000)
        #expect(link.receive(100, at: 0) == 200_000_000)
        #expect(link.receive(100, at: 1_000_000_000) == 1_100_000_000)
        #expect(link.send(100, at: 0) == 200_000_000)
    }

    @Test func largeNumbersDoNotTrap() {
        var link = LinkConditioner(NetworkProfile(down: 1))
        for _ in 0..<10 { _ = link.receive(Int.max, at: UInt64.max - 1) }
        #expect(link.receive(1, at: 0) == .max)
    }

    @Test func profileNamesAreKnown() {
        for name in NetworkProfile.names { #expect(NetworkProfile.named(name) != nil) }
        #expect(NetworkProfile.named("5g") == nil)
        #expect(NetworkProfile.named("3g")?.down == 200_000)
        #expect(NetworkProfile.named("edge")?.latency == .milliseconds(840))
    }
}
