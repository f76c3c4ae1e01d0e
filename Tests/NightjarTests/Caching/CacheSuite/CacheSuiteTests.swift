import Testing

@testable import Nightjar

/// The behaviors that the public test suite for HTTP caches requires of a private cache, for each storage place.
@Suite struct CacheSuiteTests {
    @Test(arguments: CacheScenario.Place.allCases, SuiteRow.all)
    func rowHolds(_ place: CacheScenario.Place, _ row: SuiteRow) async throws {
        let problems = try await row.scenario.problems(in: place)
        if row.deviation == nil {
            #expect(problems.isEmpty, "\(row.id) (\(row.scenario.name))")
        } else {
            // A deviation that no longer exists must be removed from the list.
            #expect(!problems.isEmpty, "\(row.id) holds now")
        }
    }

    /// The suite has 137 required and 77 optimal tests for a private cache; at least 134 and 70 of them pass.
    @Test func requiredNumberOfRowsHolds() {
        let required = SuiteRow.all.filter { $0.kind == .required }
        let optimal = SuiteRow.all.filter { $0.kind == .optimal }
        #expect(required.count == 137)
        #expect(optimal.count == 77)
        #expect(required.filter(\.passes).count >= 134)
        #expect(optimal.filter(\.passes).count >= 70)
        #expect(Set(SuiteRow.all.map(\.id)).count == SuiteRow.all.count)
    }
}
