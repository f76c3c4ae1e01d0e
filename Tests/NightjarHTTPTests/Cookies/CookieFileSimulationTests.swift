import NightjarTestSupport
import Testing

/// Processes that share a cookie file, with random steps and crashes. No deleted cookie reappears, no cookie is
/// replaced by an older one, and no cookie is lost when another process saves.
@Suite struct CookieFileSimulationTests {
    @Test func changesAreNeitherLostNorUndone() throws {
        try simulate(CookieFileSystem.self, schedules: 10_000, steps: 60)
    }
}
