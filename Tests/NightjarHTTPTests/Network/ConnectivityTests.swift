import Testing

@testable import NightjarHTTP

private let second: UInt64 = 1_000_000_000

/// A machine with a wired interface (2) and a wireless interface (3).
private func machine(_ changes: NetworkTables.Change...) -> NetworkTables {
    var tables = NetworkTables()
    let usual: [NetworkTables.Change] = [
        .link(1, .init(name: "lo", isRunning: false)), .link(2, .init(name: "eth0", isRunning: true)),
        .address(address(2, 10)), .route(route(2)),
    ]
    for change in usual + changes { tables.apply(change) }
    return tables
}

private func address(_ interface: Int32, _ low: UInt64) -> NetworkTables.Address {
    .init(family: .ipv4, interface: interface, high: 0, low: low)
}

private func route(_ interface: Int32, metric: UInt32 = 0, gateway: UInt64 = 1) -> NetworkTables.Route {
    .init(family: .ipv4, interface: interface, metric: metric, gatewayLow: gateway)
}

@Suite struct ConnectivityTests {
    private var connectivity = Connectivity()

    @Test mutating func burstIsReportedOnceWhenItHasEnded() {
        let status = connectivity.started(machine(), nil)
        #expect(status == NetworkStatus(isOnline: true, interface: "eth0"))
        #expect(connectivity.deadline == nil)

        connectivity.notified(.link(2, .init(name: "eth0", isRunning: false)), now: second)
        #expect(connectivity.deadline == second + Connectivity.quietTime)
        connectivity.notified(.routeRemoved(route(2)), now: second + 100)
        let isDue1 = connectivity.isDue(at: second + 200)
        #expect(!isDue1)
        let isDue2 = connectivity.isDue(at: second + 100 + Connectivity.quietTime)
        #expect(isDue2)
        #expect(connectivity.deadline == nil)
        let offline = machine(.link(2, .init(name: "eth0", isRunning: false)), .routeRemoved(route(2)))
        let change = connectivity.read(offline)
        #expect(change == NetworkChange(NetworkStatus(isOnline: false), pathChanged: true))
        #expect(!connectivity.status.isOnline)
    }

    @Test mutating func longBurstIsReportedAfterASecond() {
        _ = connectivity.started(machine(), nil)
        var now = second
        for step in 0..<20 {
            connectivity.notified(.address(address(2, UInt64(100 + step))), now: now)
            now += 100_000_000
            if connectivity.isDue(at: now) { break }
        }
        #expect(now == second + Connectivity.longestBurst)
    }

    @Test mutating func repeatedNotificationsAreIgnored() {
        _ = connectivity.started(machine(), nil)
        // The kernel repeats an address when its lifetime is extended.
        connectivity.notified(.address(address(2, 10)), now: second)
        connectivity.notified(.route(route(2)), now: second)
        connectivity.notified(.link(2, .init(name: "eth0", isRunning: true)), now: second)
        // An interface without a default route, such as that of a container.
        connectivity.notified(.link(9, .init(name: "veth9", isRunning: true)), now: second)
        connectivity.notified(.address(address(9, 77)), now: second)
        #expect(connectivity.deadline == nil)
    }

    @Test mutating func shortInterruptionIsAChangeOfThePath() {
        _ = connectivity.started(machine(), nil)
        connectivity.notified(.link(2, .init(name: "eth0", isRunning: false)), now: second)
        connectivity.notified(.link(2, .init(name: "eth0", isRunning: true)), now: second + 1)
        let isDue = connectivity.isDue(at: 2 * second)
        #expect(isDue)
        // The status is the same, but the network may be another one with the same addresses.
        let change = connectivity.read(machine())
        #expect(change == NetworkChange(connectivity.status, pathChanged: true))
    }

    @Test mutating func changesWithoutNotificationAreFound() {
        _ = connectivity.started(machine(), nil)
        connectivity.overflowed(now: second)
        let isDue1 = connectivity.isDue(at: 2 * second)
        #expect(isDue1)
        let moved = machine(.addressRemoved(address(2, 10)), .address(address(2, 11)))
        let reported = connectivity.read(moved)
        #expect(reported?.pathChanged == true)
        connectivity.serviceChanged(ServiceState(metered: 1, connectivity: 2, connectionType: "gsm"), now: 3 * second)
        let isDue2 = connectivity.isDue(at: 4 * second)
        #expect(isDue2)
        // NetworkManager has reported first, and the routes differ silently.
        let change = connectivity.read(machine(.addressRemoved(address(2, 10))))
        #expect(change?.pathChanged == true)
        #expect(change?.status.isMetered == true && change?.status.isCaptive == true)
        #expect(change?.status.kind == .cellular)
    }

    @Test mutating func serviceChangesTheStatusButNotThePath() {
        _ = connectivity.started(machine(), nil)
        connectivity.serviceChanged(
            ServiceState(metered: 2, connectivity: 4, connectionType: "802-3-ethernet"), now: second)
        let isDue1 = connectivity.isDue(at: 2 * second)
        #expect(isDue1)
        let status = NetworkStatus(
            isOnline: true, isMetered: false, isCaptive: false, interface: "eth0", kind: .ethernet)
        let change1 = connectivity.read(machine())
        #expect(change1 == NetworkChange(status, pathChanged: false))
        connectivity.serviceChanged(nil, now: 3 * second)
        let isDue2 = connectivity.isDue(at: 4 * second)
        #expect(isDue2)
        let unknown = NetworkStatus(isOnline: true, interface: "eth0")
        let change2 = connectivity.read(machine())
        #expect(change2 == NetworkChange(unknown, pathChanged: false))
    }

    @Test(
        arguments: [
            (UInt32(1), UInt32(1), UInt32(4), true, false), (1, 0, 4, false, false), (1, 0, 3, false, true),
            (1, 1, 2, true, false), (1, 0, 1, false, nil),
            // Without a network, the portal reports that it is not metered.
            (0, 0, 1, nil, nil),
            // The portal does not report the value, or reports a value outside of the range.
            (.max, 1, 4, true, false), (1, .max, .max, nil, nil), (1, 2, 0, nil, nil), (7, 1, 5, true, nil),
        ] as [(UInt32, UInt32, UInt32, Bool?, Bool?)])
    func portalReportsMeteredAndCaptive(
        _ available: UInt32, _ metered: UInt32, _ connectivity: UInt32, _ isMetered: Bool?, _ isCaptive: Bool?
    ) {
        let state = ServiceState(available: available, metered: metered, connectivity: connectivity)
        #expect(state.isMetered == isMetered && state.isCaptive == isCaptive && state.kind == nil)
    }

    @Test mutating func resumeFromSleepIsAChangeOfThePath() {
        _ = connectivity.started(machine(), nil)
        connectivity.resumed(now: second)
        let isDue = connectivity.isDue(at: 2 * second)
        #expect(isDue)
        let change = connectivity.read(machine())
        #expect(change == NetworkChange(connectivity.status, pathChanged: true))
    }

    @Test mutating func nothingIsReportedWithoutAChange() {
        _ = connectivity.started(machine(), nil)
        connectivity.serviceChanged(ServiceState(metered: 1, connectivity: 0, connectionType: ""), now: second)
        connectivity.serviceChanged(nil, now: second)
        let isDue = connectivity.isDue(at: 2 * second)
        #expect(isDue)
        let change = connectivity.read(machine())
        #expect(change == nil)
        #expect(connectivity.deadline == nil)
    }

    @Test mutating func unknownNetworkIsOnline() {
        let status = connectivity.started(nil, nil)
        #expect(status == NetworkStatus(isOnline: true))
        connectivity.notified(.linkRemoved(2), now: second)
        #expect(connectivity.deadline == nil)
    }

    @Test func sleepIsRecognizedByTheClocks() {
        var jump = ClockJump(difference: 5)
        let hasSlept1 = jump.hasSlept(difference: 5)
        #expect(!hasSlept1)
        let hasSlept2 = jump.hasSlept(difference: 1_000_000)
        #expect(!hasSlept2)
        let hasSlept3 = jump.hasSlept(difference: 2_000_000)
        #expect(!hasSlept3)
        let hasSlept4 = jump.hasSlept(difference: 3_000_000_000)
        #expect(hasSlept4)
        let hasSlept5 = jump.hasSlept(difference: 3_000_000_000)
        #expect(!hasSlept5)
        let hasSlept6 = jump.hasSlept(difference: .max)
        #expect(hasSlept6)
        let hasSlept7 = jump.hasSlept(difference: 0)
        #expect(!hasSlept7)
    }
}

@Suite struct NetworkTablesTests {
    @Test func machineIsOnlineWithALinkAnAddressAndARoute() {
        #expect(machine().isOnline)
        #expect(machine().interface == "eth0")
        #expect(!machine(.link(2, .init(name: "eth0", isRunning: false))).isOnline)
        #expect(!machine(.linkRemoved(2)).isOnline)
        #expect(!machine(.addressRemoved(address(2, 10))).isOnline)
        #expect(!machine(.routeRemoved(route(2))).isOnline)
        #expect(machine(.linkRemoved(2)).interface == nil)
    }

    @Test func preferredRouteHasTheLowestMetric() {
        let both = machine(
            .link(3, .init(name: "wlan0", isRunning: true)), .address(address(3, 20)), .route(route(3, metric: 600)))
        #expect(both.interface == "eth0")
        let wireless = machine(
            .link(3, .init(name: "wlan0", isRunning: true)), .address(address(3, 20)), .routeRemoved(route(2)),
            .route(route(2, metric: 700)), .route(route(3, metric: 600)))
        #expect(wireless.interface == "wlan0")
    }

    @Test func familiesAreSeparate() {
        // A default route for IPv6 with IPv4 addresses only.
        let tables = machine(
            .routeRemoved(route(2)), .route(.init(family: .ipv6, interface: 2)))
        #expect(!tables.isOnline)
        // An unnumbered interface uses the address of another interface.
        let unnumbered = machine(
            .routeRemoved(route(2)), .link(5, .init(name: "wg0", isRunning: true)), .route(route(5)))
        #expect(unnumbered.isOnline)
        #expect(unnumbered.interface == "wg0")
    }

    @Test func tablesAreBounded() {
        var tables = machine()
        for number in 0..<10_000 {
            tables.apply(.address(address(2, UInt64(number))))
            tables.apply(.link(Int32(number), .init(name: "", isRunning: true)))
            tables.apply(.route(route(2, gateway: UInt64(number))))
        }
        let isNew1 = tables.apply(.address(address(2, 20_000)))
        #expect(!isNew1)
        let isNew2 = tables.apply(.link(20_000, .init(name: "", isRunning: true)))
        #expect(!isNew2)
        let isNew3 = tables.apply(.route(route(2, gateway: 20_000)))
        #expect(!isNew3)
        // A known link can still change.
        let isNew4 = tables.apply(.link(2, .init(name: "eth0", isRunning: false)))
        #expect(isNew4)
    }
}

@Suite struct ConnectivityWaitTests {
    private static func wait(_ seconds: Int, metered: Bool = true) -> ConnectivityWait {
        var settings = ConnectivitySettings()
        settings.maximumWait = .seconds(seconds)
        settings.allowsMetered = metered
        return ConnectivityWait(settings)
    }

    private func change(_ isOnline: Bool, path: Bool = true, metered: Bool? = nil) -> NetworkChange {
        NetworkChange(NetworkStatus(isOnline: isOnline, isMetered: metered), pathChanged: path)
    }

    @Test func callWithoutWaitFails() {
        var wait = Self.wait(0)
        let verdict = wait.failed(now: second)
        #expect(verdict == .fail)
        #expect(!wait.isWaiting)
    }

    @Test func waitsShareOneLimit() {
        var wait = Self.wait(10)
        let verdict1 = wait.failed(now: second)
        #expect(verdict1 == .wait(until: 11 * second))
        let resumes = wait.changed(change(true), now: 4 * second)
        #expect(resumes)
        #expect(!wait.isWaiting)
        let verdict2 = wait.failed(now: 5 * second)
        #expect(verdict2 == .wait(until: 12 * second))
        let failsNow = wait.expired(now: 12 * second)
        #expect(failsNow)
        let verdict3 = wait.failed(now: 12 * second)
        #expect(verdict3 == .fail)
        #expect(wait.totalWait == .seconds(10))
    }

    @Test func statusIsOnlyAHint() {
        var wait = Self.wait(10)
        _ = wait.failed(now: second)
        let resumes1 = wait.changed(change(false, path: false), now: 2 * second)
        #expect(!resumes1)
        // A network without a default route has appeared.
        let resumes2 = wait.changed(change(false), now: 2 * second)
        #expect(resumes2)
    }

    /// A host that is unreachable over a network that is online.
    @Test func repeatedStatusDoesNotEndTheWait() {
        var wait = Self.wait(10)
        _ = wait.failed(now: second)
        let firstReport = wait.changed(change(true, path: false), now: second)
        #expect(firstReport)
        _ = wait.failed(now: 2 * second)
        let secondReport = wait.changed(change(true, path: false), now: 2 * second)
        #expect(!secondReport)
        let newPath = wait.changed(change(true), now: 3 * second)
        #expect(newPath)
    }

    @Test func excludedNetworkIsNotUsed() {
        var wait = Self.wait(10, metered: false)
        _ = wait.failed(now: second)
        let resumes1 = wait.changed(change(true, metered: true), now: 2 * second)
        #expect(!resumes1)
        #expect(wait.isWaiting)
        let resumes2 = wait.changed(change(true, path: false, metered: nil), now: 3 * second)
        #expect(resumes2)
    }

    @Test func eventsAfterTheWaitAreIgnored() {
        var wait = Self.wait(1)
        let failsNow = wait.expired(now: second)
        #expect(!failsNow)
        let resumes = wait.changed(change(true), now: second)
        #expect(!resumes)
    }

    @Test func sandboxedRequestCanOnlyTighten() {
        var strict = ConnectivitySettings()
        strict.allowsMetered = false
        var changes = ConnectivityChanges()
        #expect(changes.isEmpty)
        changes.allowsMetered = true
        changes.allowsConstrained = false
        changes.maximumWait = .seconds(3)
        let bounded = changes.applied(to: strict, bounded: true)
        #expect(!bounded.allowsMetered && !bounded.allowsConstrained && bounded.maximumWait == .seconds(3))
        #expect(changes.applied(to: strict, bounded: false).allowsMetered)
        #expect(bounded.refusal(of: NetworkStatus(isMetered: true)) == .metered)
        #expect(bounded.refusal(of: NetworkStatus(isConstrained: true)) == .constrained)
        #expect(bounded.refusal(of: NetworkStatus()) == nil)
    }
}
