import NightjarTestSupport
import Testing

/// Thousands of interleavings of processes that share a folder. No write, removal or logout is lost if a process is
/// slow, waits for the index, crashes or closes.
@Suite struct DiskCacheSimulationTests {
    /// The long run sets `NIGHTJAR_SIMULATION_SCHEDULES=1000000`.
    @Test func changesAreNeverLostInAnyInterleaving() throws {
        try simulate(SharedFolder.self, schedules: 20_000, steps: 120)
    }
}
