import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Checks invariants after each event of a random sequence.
@Suite struct TokenRefreshRandomTests {
    private struct World {
        var machine = TokenRefresh()
        var random: SeededRandom
        var seconds: Int64 = 0
        var nextCall: TokenRefresh.Call = 0
        var sent: [TokenRefresh.Call: TokenRefresh.Version] = [:]
        var waiting: Set<TokenRefresh.Call> = []
        var replays: [TokenRefresh.Call: Int] = [:]
        var refreshes: [TokenRefresh.Refresh] = []
        var starts: [Int64] = []
        /// The versions for which a refresh failed.
        var spoiled: Set<TokenRefresh.Version> = []
        var hooks = 0
        var logins = 0

        mutating func perform(_ actions: [TokenRefresh.Action]) {
            let seed = Comment(rawValue: "seed \(random.seed)")
            for action in actions {
                switch action {
                case .attach(let call, let version):
                    waiting.remove(call)
                    sent[call] = version
                    #expect(!spoiled.contains(version) && version == machine.version, seed)
                case .replay(let call, let version):
                    waiting.remove(call)
                    sent[call] = version
                    replays[call, default: 0] += 1
                    #expect(replays[call] == 1 && !spoiled.contains(version) && version == machine.version, seed)
                case .wait(let call): waiting.insert(call)
                case .startRefresh(let refresh):
                    refreshes.append(refresh)
                    starts.append(seconds)
                    #expect(starts.count { $0 > seconds - 30 } <= 5, seed)
                case .fail(let call, _):
                    waiting.remove(call)
                    end(call)
                case .clear: break
                case .callLoginRequired:
                    hooks += 1
                    #expect(hooks <= logins && machine.version == nil, seed)
                }
            }
            #expect(machine.waiterCount == waiting.count && (waiting.isEmpty || machine.isRefreshing), seed)
        }

        mutating func end(_ call: TokenRefresh.Call) {
            machine.ended(call)
            sent[call] = nil
        }

        mutating func fail(_ refresh: TokenRefresh.Refresh, _ failure: TokenRefresh.Failure) {
            let actions = machine.failed(refresh, failure)
            if !actions.isEmpty { spoiled.insert(refresh.version) }
            perform(actions)
        }

        mutating func step() throws {
            let now = try TokenRefreshTests.at(seconds)
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                logins += 1
                let end = try TokenRefreshTests.expiry(seconds + 100)
                perform(machine.loggedIn(expiry: end, canRefresh: true, at: now))
            case 1 where Bool.random(using: &random): perform(machine.loggedOut())
            case 2...4: seconds += Int64.random(in: 0...20, using: &random)
            case 5: perform(machine.timerFired(at: now))
            case 6...10:
                nextCall += 1
                perform(machine.requestToken(nextCall, at: now))
            case 11...14:
                guard let (call, version) = sent.min(by: { $0.key < $1.key }) else { return }
                sent[call] = nil
                perform(machine.refused(call, sentWith: version, at: now))
            case 15:
                guard let call = waiting.min() else { return }
                let wasRefreshing = machine.isRefreshing
                waiting.remove(call)
                end(call)
                #expect(machine.isRefreshing == wasRefreshing)
            case 16:
                if let call = sent.keys.max() { end(call) }
            default:
                guard let refresh = refreshes.randomElement(using: &random) else { return }
                refreshes.removeAll { $0 == refresh }
                let end = try TokenRefreshTests.expiry(seconds + 100)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: fail(refresh, .invalidGrant)
                case 1: fail(refresh, .network)
                default: perform(machine.succeeded(refresh, expiry: end, canRefresh: true, at: now))
                }
            }
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func randomEventsPreserveTheInvariants(seed: UInt64) throws {
        var world = World(random: SeededRandom(seed: seed))
        for _ in 0..<2000 { try world.step() }
    }
}
