import NightjarTestSupport
import Testing

@Suite struct SimulationTests {
    @Test func lostUpdateIsFoundWithItsSteps() throws {
        let failure = #expect(throws: SimulationFailure.self) {
            try simulate(Counters.self, schedules: 1000, steps: 20)
        }
        #expect(failure?.violation == "the counter is 1 after 2 increments")
        #expect(failure?.steps.count == 4)
    }

    @Test func sameSeedTakesTheSameSteps() {
        let failures = (0..<2).map { _ in
            #expect(throws: SimulationFailure.self) { try simulate(Counters.self, schedules: 1000, steps: 20) }
        }
        #expect(failures[0]?.seed == failures[1]?.seed)
        #expect(failures[0]?.steps == failures[1]?.steps)
    }
}

/// Two processes that increment a shared counter without a lock.
private struct Counters: SimulatedSystem {
    enum Action: CustomStringConvertible {
        case read(Int)
        case write(Int)

        var description: String {
            switch self {
            case .read(let process): "process \(process) reads"
            case .write(let process): "process \(process) writes"
            }
        }
    }

    private enum Process {
        case ready, done
        case read(Int)
    }

    private var counter = 0
    private var processes = [Process.ready, .ready]

    init(random: inout SeededRandom) {}

    var actions: [Action] {
        processes.enumerated().compactMap { index, process in
            switch process {
            case .ready: .read(index)
            case .read: .write(index)
            case .done: nil
            }
        }
    }

    mutating func perform(_ action: Action, random: inout SeededRandom) {
        switch action {
        case .read(let index): processes[index] = .read(counter)
        case .write(let index):
            guard case .read(let value) = processes[index] else { return }
            counter = value + 1
            processes[index] = .done
        }
    }

    var violation: String? {
        let increments = processes.count { if case .done = $0 { true } else { false } }
        return increments == 2 && counter < 2 ? "the counter is \(counter) after 2 increments" : nil
    }
}
