/// The conditions under which a background transfer runs.
package struct TransferConstraints: Sendable, Equatable {
    /// The transfer does not start before this time. Nil: at once.
    package var notBefore: Timestamp?
    /// Whether the transfer waits while the network is metered. A network whose cost is unknown counts as unmetered.
    package var needsUnmetered = false
    /// Whether the transfer waits while the network is metered, and while the machine runs on battery.
    package var isDiscretionary = false
    /// Transfers with a higher priority start first, -10 to 10.
    package var priority = 0
    /// The weight of the transfer when a maximum rate is divided among the running transfers, 1 to 100.
    package var bandwidthShare = 1
    /// The time from the start after which the transfer fails, 1 second to 365 days.
    package var timeLimit = Duration.seconds(7 * 86_400)

    package init() {}

    package static let priorities = -10...10
    package static let bandwidthShares = 1...100
    package static let timeLimits = Duration.seconds(1)...Duration.seconds(365 * 86_400)

    /// The circumstances of a decision.
    package struct Circumstances: Sendable {
        package var now: Timestamp
        package var network: NetworkStatus
        /// Whether the machine has mains power. Nil: unknown.
        package var hasMainsPower: Bool?

        package init(now: Timestamp, network: NetworkStatus, hasMainsPower: Bool?) {
            (self.now, self.network, self.hasMainsPower) = (now, network, hasMainsPower)
        }
    }

    package enum Decision: Sendable, Equatable {
        case run
        case wait(WaitReason)
        /// The time limit is over.
        case expired
    }

    /// The reason why a transfer does not run.
    package enum WaitReason: Sendable {
        case notBefore, offline, metered, power
    }

    /// - Parameter created: The time at which the transfer was started.
    package func decision(_ circumstances: Circumstances, created: Timestamp) -> Decision {
        if let end = created.later(by: timeLimit), circumstances.now >= end { return .expired }
        if let notBefore, circumstances.now < notBefore { return .wait(.notBefore) }
        guard circumstances.network.isOnline else { return .wait(.offline) }
        if needsUnmetered || isDiscretionary, circumstances.network.isMetered == true { return .wait(.metered) }
        if isDiscretionary, circumstances.hasMainsPower == false { return .wait(.power) }
        return .run
    }
}
