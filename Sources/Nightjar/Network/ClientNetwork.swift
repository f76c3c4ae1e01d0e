import NIOCore
import NightjarHTTP
import NightjarTransport

/// The network as one client sees it: the status, and the calls that wait for a change. Used on the loop.
///
/// Observes the network while calls wait, and permanently after a call needed a status that was not known.
final class ClientNetwork: LoopComponent, @unchecked Sendable {
    /// A call that waits for the network.
    final class Waiter: CallState, @unchecked Sendable {
        fileprivate weak var call: Call?
        var wait: ConnectivityWait
        fileprivate var number = 0

        init(_ call: Call, _ settings: ConnectivitySettings) {
            self.call = call
            wait = ConnectivityWait(settings)
        }
    }

    private var watch: NetworkWatch?
    /// Nil until the network is observed and its status is known.
    private(set) var status: NetworkStatus?
    private var waiters: [ObjectIdentifier: Waiter] = [:]
    /// The calls that need the status.
    private var readers: [() -> Void] = []
    private var isPermanent = false
    private var waits = 0

    init() {}

    func mustFinish() -> Bool { false }

    func shutDown() {
        watch.take()?.stop()
        waiters = [:]
        readers = []
    }

    /// Calls `body` when the status is known, possibly at once. If the status is not known, the network is observed
    /// from now on.
    func withStatus(_ loop: ClientLoop, _ body: @escaping (NetworkStatus) -> Void) {
        if let status { return body(status) }
        isPermanent = true
        readers.append { [unowned self] in if let status = self.status { body(status) } }
        observe(loop)
    }

    /// Makes a call wait until a change or until `end`, in nanoseconds of the monotonic clock.
    func add(_ waiter: Waiter, until end: UInt64, on loop: ClientLoop) {
        waits += 1
        let number = waits
        waiter.number = number
        waiters[ObjectIdentifier(waiter)] = waiter
        let now = NIODeadline.now().uptimeNanoseconds
        loop.after(.nanoseconds(Int64(clamping: end > now ? end - now : 0))) { [self] in
            if waiter.number == number { expire(waiter) }
        }
        observe(loop)
    }

    /// Removes a call that no longer waits.
    func remove(_ waiter: Waiter) {
        waiters[ObjectIdentifier(waiter)] = nil
        waiter.number = 0
        if waiters.isEmpty, !isPermanent {
            watch.take()?.stop()
            status = nil
        }
    }

    private func observe(_ loop: ClientLoop) {
        guard watch == nil else { return }
        let watch = NetworkWatch(loop.eventLoop)
        self.watch = watch
        watch.start { [self] in changed($0) }
    }

    private func changed(_ change: NetworkChange) {
        status = change.status
        let waiting = readers
        readers = []
        for body in waiting { body() }
        let now = NIODeadline.now().uptimeNanoseconds
        for waiter in waiters.values where waiter.wait.changed(change, now: now) {
            remove(waiter)
            guard let call = waiter.call, call.state != .finished else { continue }
            call.decide(.waited(waiter.wait.totalWait, for: "the network"))
            call.resume(.again(after: .zero))
        }
    }

    private func expire(_ waiter: Waiter) {
        guard waiter.wait.expired(now: NIODeadline.now().uptimeNanoseconds) else { return }
        remove(waiter)
        guard let call = waiter.call, call.state != .finished else { return }
        call.decide(.waited(waiter.wait.totalWait, for: "the network"))
        call.resume(.proceed)
    }
}
