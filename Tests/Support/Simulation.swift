import Glibc

/// A system of several processes that share storage, as a value: each process is a state machine, and each step is
/// atomic.
///
/// A crash of a process is an action like any other. Time is part of the system and also advances by actions, so that a
/// schedule depends only on its seed.
public protocol SimulatedSystem {
    associatedtype Action: CustomStringConvertible

    /// The initial state. `random` chooses what differs between schedules: the number of processes, their
    /// configurations.
    init(random: inout SeededRandom)

    /// The steps that are possible now, including crashes. The schedule ends when there are none.
    var actions: [Action] { get }

    /// Takes one step.
    mutating func perform(_ action: Action, random: inout SeededRandom)

    /// Describes the first violated invariant; nil: none.
    var violation: String? { get }

    /// Describes the first promise that the schedule has not kept at its end; nil: all are kept.
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
/// Environment variables: NIGHTJAR_SIMULATION_SCHEDULES is the number of schedules, NIGHTJAR_SIMULATION_FIRST the seed
/// of the first (0), NIGHTJAR_SIMULATION_SEED the seed of a single one.
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
    // Runs the schedule again to describe its steps, which successful schedules do not need.
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
