import NightjarTestSupport
import Testing

/// Thousands of interleavings of processes that share a folder: no write, removal or logout is lost when any process
/// is slow, waits for the index, crashes or closes.
@Suite struct DiskCacheSimulationTests {
    /// `NIGHTJAR_SIMULATION_SCHEDULES=1000000` for the long run.
    @Test func changesAreNeverLostInAnyInterleaving() throws {
        try simulate(SharedFolder.self, schedules: 20_000, steps: 120)
    }
}
