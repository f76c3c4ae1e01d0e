import NightjarTestSupport

/// The weight and the maximum number of each event in one schedule of ``TokenStoreSystem``.
///
/// Each schedule has different weights. With equal weights in all schedules, the events that trigger a defect would
/// rarely occur together without events that hide the defect.
struct TokenStoreFaults {
    enum Event: Int, CaseIterable {
        case call, setToken, logIn, logOut, crash, expire, revoke, timeOut, fill, remove
    }

    /// The share of failing operations.
    struct Rate {
        let percent: Int

        func hits(_ random: inout SeededRandom) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    }

    let failures: Rate
    /// The weight of the next step of an update.
    let steps: Int
    /// The factor that is applied to `steps` for the process that took the last step.
    let persistence: Int
    private let weights: [Int]
    private var left: [Int]

    init(random: inout SeededRandom) {
        failures = Rate(percent: [0, 0, 5, 10, 30].randomElement(using: &random) ?? 0)
        steps = [2, 6, 12].randomElement(using: &random) ?? 6
        persistence = [1, 1, 4].randomElement(using: &random) ?? 1
        var weights: [Int] = []
        for event in Event.allCases {
            let choices: [Int] =
                switch event {
                case .call: [1, 2, 4]
                case .remove: [0, 0, 3]
                case .revoke, .crash: [0, 0, 1]
                case .setToken, .logIn, .logOut, .expire, .timeOut, .fill: [0, 1, 1, 3]
                }
            weights.append(choices.randomElement(using: &random) ?? 1)
        }
        self.weights = weights
        left = Event.allCases.map { event in
            switch event {
            case .call: .max
            case .setToken, .logIn, .logOut, .crash, .fill: 3
            case .expire: 6
            case .timeOut, .remove: 2
            case .revoke: 1
            }
        }
    }

    func weight(of event: Event) -> Int { left[event.rawValue] > 0 ? weights[event.rawValue] : 0 }

    mutating func happened(_ event: Event) { left[event.rawValue] -= 1 }
}
