import NightjarBase
import Testing

@testable import NightjarHTTP

@Suite struct TransferConstraintsTests {
    private static let start = Timestamp(secondsSince1970: Int64(1_000_000)) ?? .epoch

    private func circumstances(
        after seconds: Int64 = 0, online: Bool = true, metered: Bool? = nil, mains: Bool? = nil
    ) -> TransferConstraints.Circumstances {
        TransferConstraints.Circumstances(
            now: TransferConstraintsTests.start.later(by: .seconds(seconds)) ?? .epoch,
            network: NetworkStatus(isOnline: online, isMetered: metered), hasMainsPower: mains)
    }

    private func decision(
        _ circumstances: TransferConstraints.Circumstances, _ change: (inout TransferConstraints) -> Void = { _ in }
    ) -> TransferConstraints.Decision {
        var constraints = TransferConstraints()
        change(&constraints)
        return constraints.decision(circumstances, created: TransferConstraintsTests.start)
    }

    @Test func defaultIsToRun() {
        #expect(decision(circumstances()) == .run)
        #expect(decision(circumstances(metered: true, mains: false)) == .run)
        #expect(decision(circumstances(online: false)) == .wait(.offline))
    }

    @Test func timeLimitIsSevenDays() {
        #expect(decision(circumstances(after: 7 * 86_400 - 1)) == .run)
        #expect(decision(circumstances(after: 7 * 86_400)) == .expired)
        #expect(decision(circumstances(after: 60, online: false)) { $0.timeLimit = .seconds(60) } == .expired)
    }

    @Test func startWaitsForItsTime() {
        let time = TransferConstraintsTests.start.later(by: .seconds(100))
        #expect(decision(circumstances(after: 99)) { $0.notBefore = time } == .wait(.notBefore))
        #expect(decision(circumstances(after: 100)) { $0.notBefore = time } == .run)
        // A clock that is set back.
        #expect(decision(circumstances(after: -1000)) { $0.notBefore = time } == .wait(.notBefore))
    }

    @Test(arguments: [true, false, nil]) func meteredNetworkIsNotUsed(metered: Bool?) {
        let expected = metered == true ? TransferConstraints.Decision.wait(.metered) : .run
        #expect(decision(circumstances(metered: metered)) { $0.needsUnmetered = true } == expected)
        #expect(decision(circumstances(metered: metered)) { $0.isDiscretionary = true } == expected)
    }

    @Test(arguments: [true, false, nil]) func discretionaryNeedsMainsPower(mains: Bool?) {
        let expected = mains == false ? TransferConstraints.Decision.wait(.power) : .run
        #expect(decision(circumstances(mains: mains)) { $0.isDiscretionary = true } == expected)
        #expect(decision(circumstances(mains: mains)) { $0.needsUnmetered = true } == .run)
    }
}
