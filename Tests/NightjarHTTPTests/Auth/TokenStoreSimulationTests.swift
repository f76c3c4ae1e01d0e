import NightjarTestSupport
import Testing

/// Processes that share one login. No login is replaced by an older one. No refresh token is redeemed twice, unless a
/// response or a save was lost. A logout remains in effect until a new login.
@Suite struct TokenStoreSimulationTests {
    @Test func processesSharingALoginPreserveTheInvariants() throws {
        try simulate(TokenStoreSystem.self, schedules: 20_000, steps: 60)
    }
}
