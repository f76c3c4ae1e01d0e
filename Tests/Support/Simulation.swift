import Glibc

/// A simulated system of several processes that share storage. Each process is a state machine with atomic steps.
///
/// Crashes and the passage of time are also actions, so a schedule depends only on its seed.
public protocol SimulatedSystem {
    associatedtype Action: CustomStringConvertible

    /// Creates the initial state. `random` chooses the properties that differ between schedules, such as the number of
    /// processes.
    init(random: inout SeededRandom)

    /// The actions that are possible now, including crashes. The schedule ends when this list is empty.
    var actions: [Action] { get }

    /// Performs one action.
    mutating func perform(_ action: Action, random: inout SeededRandom)

    /// A description of the first violated invariant, or nil.
    var violation: String? { get }

    /// A description of the first guarantee that does not hold at the end of the schedule, or nil.
    var violationAtEnd: String? { get }
}

extension SimulatedSystem {
    public var violationAtEnd: String? { nil }
}

/// The first schedule that violates an invariant.
public struct SimulationFailure: Error, CustomStringConvertible {
    public let seed: UInt64
    public let violation: String
    /// The steps that led to the violation.
    public let steps: [String]

    public var description: String {
        "\(violation)\nseed \(seed); repeat with NIGHTJAR_SIMULATION_SEED=\(seed)\n"
            + steps.enumerated().map { "  \($0.offset + 1). \($0.element)" }.joined(separator: "\n")
    }
}

/// Runs random schedules of a system and checks its invariants after every step.
///
/// Environment variables:
/// - `NIGHTJAR_SIMULATION_SCHEDULES`: the number of schedules
/// - `NIGHTJAR_SIMULATION_FIRST`: the seed of the first schedule (default 0)
/// - `NIGHTJAR_SIMULATION_SEED`: runs only the schedule with this seed
///
/// - Parameters:
///   - schedules: The default number of schedules.
///   - steps: The maximum number of steps of a schedule.
/// - Throws: ``SimulationFailure`` with the seed and the steps of the first schedule that violates an invariant.
public func simulate<System: SimulatedSystem>(_ type: System.Type, schedules: Int, steps: Int) throws {
    if let seed = environmentNumber("NIGHTJAR_SIMULATION_SEED") {
        return try runSchedule(System.self, seed: seed, steps: steps)
    }
    let count = environmentNumber("NIGHTJAR_SIMULATION_SCHEDULES") ?? UInt64(schedules)
    let first = environmentNumber("NIGHTJAR_SIMULATION_FIRST") ?? 0
    for seed in first..<first + count { try runSchedule(System.self, seed: seed, steps: steps) }
}

private func runSchedule<System: SimulatedSystem>(_ type: System.Type, seed: UInt64, steps: Int) throws {
    guard let (violation, _) = firstViolation(System.self, seed: seed, steps: steps, describes: false) else { return }
    // Repeats the failed schedule to describe its steps. Successful schedules skip the descriptions.
    let described = firstViolation(System.self, seed: seed, steps: steps, describes: true)
    throw SimulationFailure(seed: seed, violation: violation, steps: described?.steps ?? [])
}

private func firstViolation<System: SimulatedSystem>(
    _ type: System.Type, seed: UInt64, steps: Int, describes: Bool
) -> (violation: String, steps: [String])? {
    var random = SeededRandom(seed: seed)
    var system = System(random: &random)
    var taken: [String] = []
    for _ in 0..<steps {
        let actions = system.actions
        guard let action = actions.randomElement(using: &random) else { break }
        if describes { taken.append(action.description) }
        system.perform(action, random: &random)
        if let violation = system.violation { return (violation, taken) }
    }
    return system.violationAtEnd.map { ($0, taken) }
}

private func environmentNumber(_ name: String) -> UInt64? {
    getenv(name).flatMap { UInt64(String(cString: $0)) }
}
