import NightjarTestSupport
import Testing

/// Processes that share a cookie file: no cookie comes back that was deleted, none is replaced by an older one, and none is
/// lost by the save of another process, in any order of their steps and crashes.
@Suite struct CookieFileSimulationTests {
    @Test func changesAreNeverLostOrUndone() throws {
        try simulate(CookieFileSystem.self, schedules: 10_000, steps: 60)
    }
}
