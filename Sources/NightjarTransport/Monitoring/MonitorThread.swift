import CNetworkState
import CPlatform
import NightjarHTTP
import NightjarSystem

/// The thread that waits for events of the network: netlink messages, the end of a sleep, and messages of
/// NetworkManager or the desktop portal.
final class MonitorThread: @unchecked Sendable {
    private let owner: NetworkMonitor
    /// The alarm that ends a wait.
    private let alarm: CInt
    // On the thread:
    private var socket: NetlinkSocket?
    /// The tables at the start, until the thread has reported them. The socket receives all later changes, so that none is
    /// lost while the thread starts.
    private var firstTables: NetworkTables?
    private var clockWatch: CInt
    private var services = NetworkServices()
    private var connectivity = Connectivity()
    private var jump = ClockJump(difference: cns_clock_difference())

    /// Starts a thread. Nil if no thread or descriptor is left. Called under the owner's lock.
    static func start(for owner: NetworkMonitor) -> MonitorThread? {
        let alarm = cplatform_open_alarm()
        guard alarm >= 0 else { return nil }
        let thread = MonitorThread(owner, alarm)
        do throws(ThreadFailure) {
            pthread_detach(try startThread("nightjar-net", stackSize: stackSize) { thread.run() })
            return thread
        } catch {
            thread.closeDescriptors()
            return nil
        }
    }

    private init(_ owner: NetworkMonitor, _ alarm: CInt) {
        self.owner = owner
        self.alarm = alarm
        socket = NetlinkSocket(notifies: true)
        firstTables = socket == nil ? nil : NetlinkSocket.readTables()
        clockWatch = cns_clock_watch_open()
    }

    /// Nanoseconds on the monotonic clock.
    static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// Ends the wait of the thread. Called under the owner's lock while the owner has this thread.
    func wake() { cplatform_set_alarm(alarm) }

    /// Closes the descriptors in a forked child, where the thread does not exist. The connections to the services
    /// are leaked, because libdbus may be locked by the parent's thread.
    func closeInChild() {
        closeDescriptors(areInherited: true)
        _ = Unmanaged.passRetained(self)
    }

    private func closeDescriptors(areInherited: Bool = false) {
        cplatform_close_alarm(alarm, areInherited)
        socket.take()?.close()
        if clockWatch >= 0 { NightjarSystem.close(clockWatch) }
        clockWatch = -1
    }

    // MARK: The thread

    private func run() {
        services.connect()
        let status = connectivity.started(firstTables.take(), services.state)
        owner.report(NetworkChange(status, pathChanged: false), from: self)
        while true {
            switch owner.instruction(for: self) {
            case .watch: wait(lingers: false)
            case .linger: wait(lingers: true)
            case .end:
                services = NetworkServices()
                return closeDescriptors()
            }
            settle()
        }
    }

    private func wait(lingers: Bool) {
        let descriptors = [alarm, socket?.descriptor ?? -1, clockWatch] + services.descriptors
        var polled = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        let now = MonitorThread.now
        let wait = connectivity.deadline.map { $0 > now ? $0 &- now : 0 } ?? (lingers ? NetworkMonitor.lingering : nil)
        // Rounded up, so that the deadline has passed after the wait.
        let milliseconds = wait.map { CInt(clamping: ($0 &+ 999_999) / 1_000_000) } ?? -1
        guard poll(&polled, nfds_t(polled.count), milliseconds) > 0 else { return }
        if polled[0].revents != 0 { cplatform_clear_alarm(alarm) }
        if polled[1].revents != 0 { readNotifications() }
        if polled[2].revents != 0 { checkClock() }
        if polled[3...].contains(where: { $0.revents != 0 }) { readServices() }
    }

    private func readNotifications() {
        for _ in 0..<MonitorThread.mostDatagrams {
            let now = MonitorThread.now
            let received = socket?.receive { message in
                if case .change(let change) = message { connectivity.notified(change, now: now) }
            }
            switch received {
            case .datagram: continue
            case .lost: connectivity.overflowed(now: now)
            case .nothing: return
            case .failed, nil:
                // Polling would report the failed socket again at once, so the thread would never sleep.
                socket.take()?.close()
                return
            }
        }
    }

    private func checkClock() {
        cns_clock_watch_rearm(clockWatch)
        if jump.hasSlept(difference: cns_clock_difference()) { connectivity.resumed(now: MonitorThread.now) }
    }

    private func readServices() {
        services.dispatch()
        connectivity.serviceChanged(services.state, now: MonitorThread.now)
    }

    /// Reports a change when a burst of events has ended.
    private func settle() {
        guard connectivity.isDue(at: MonitorThread.now) else { return }
        let change = connectivity.read(socket == nil ? nil : NetlinkSocket.readTables())
        guard let change else { return }
        owner.report(change, from: self)
        // A bus may have started, or started again, together with the network.
        if change.pathChanged {
            services.connect()
            connectivity.serviceChanged(services.state, now: MonitorThread.now)
        }
    }

    /// libdbus and the tables need little stack.
    private static let stackSize = 256 * 1024
    private static let mostDatagrams = 64
}
