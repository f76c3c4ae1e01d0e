import CLua
import CPlatform
import Nightjar
import NightjarHandles
import NightjarSystem
import NightjarTransport
import Synchronization

/// Reports when descriptors become readable or writable. A thread watches the descriptors; the thread starts with the
/// first wait and ends with ``close()``.
///
/// Never reads a descriptor or sets it to non-blocking mode, because standard input is shared with the shell.
/// Descriptors that do not support polling, such as regular files, are always ready.
final class Descriptors: @unchecked Sendable {
    /// Identifies one wait, for ``forget(_:)``.
    struct Ticket: Sendable {
        let descriptor: Int32
        let number: UInt64
    }

    private struct Waiter {
        let number: UInt64
        let writes: Bool
        let ready: @Sendable () -> Void
    }

    private struct State {
        var waiters: [Int32: [Waiter]] = [:]
        var lastNumber: UInt64 = 0
        var isClosing = false
    }

    private let queue: CompletionQueue
    private let state = Mutex(State())
    // Owned by the engine's thread; set before the watching thread starts.
    private var epoll: Int32 = -1
    private var alarm: Int32 = -1
    private var thread: pthread_t?

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// Waits until a descriptor is readable or writable.
    ///
    /// - Parameter ready: called by a later poll of the queue, at most once. ``forget(_:)`` withdraws it unless it is
    ///   already queued.
    /// - Returns: nil if the descriptor is always ready; `ready` is then not called.
    /// - Throws: `storage` if the descriptor is not open or the system is out of resources.
    func await(
        _ descriptor: Int32, writes: Bool, then ready: @escaping @Sendable () -> Void
    ) throws(NightjarError) -> Ticket? {
        try start()
        let future = state.withLock { state -> Result<Ticket?, NightjarError> in
            state.lastNumber += 1
            var waiters = state.waiters[descriptor] ?? []
            waiters.append(Waiter(number: state.lastNumber, writes: writes, ready: ready))
            switch watch(descriptor, for: waiters) {
            case 0:
                state.waiters[descriptor] = waiters
                return .success(Ticket(descriptor: descriptor, number: state.lastNumber))
            case EPERM: return .success(nil)
            case let code:
                return .failure(
                    NightjarError(
                        .storage, "cannot wait for descriptor \(descriptor): \(systemText(code))", code: code))
            }
        }
        return try future.get()
    }

    func forget(_ ticket: Ticket) {
        state.withLock { state in
            guard var waiters = state.waiters[ticket.descriptor] else { return }
            waiters.removeAll { $0.number == ticket.number }
            keep(waiters, of: ticket.descriptor, in: &state)
        }
    }

    /// Stores the waiters of a descriptor. Must be called under the lock.
    private func keep(_ waiters: [Waiter], of descriptor: Int32, in state: inout State) {
        if waiters.isEmpty {
            state.waiters[descriptor] = nil
            njl_epoll_forget(epoll, descriptor)
        } else {
            state.waiters[descriptor] = waiters
            _ = watch(descriptor, for: waiters)
        }
    }

    /// Adds a descriptor to the epoll instance, or changes its events.
    ///
    /// - Returns: 0 or an errno value.
    private func watch(_ descriptor: Int32, for waiters: [Waiter]) -> Int32 {
        njl_epoll_watch(
            epoll, descriptor, waiters.contains { !$0.writes }, waiters.contains { $0.writes })
    }

    // MARK: The thread

    private func start() throws(NightjarError) {
        guard thread == nil else { return }
        let code = open()
        guard code == 0 else {
            closeDescriptors()
            throw NightjarError(.storage, "cannot watch descriptors: \(systemText(code))", code: code)
        }
    }

    private func open() -> Int32 {
        epoll = njl_epoll_new()
        guard epoll >= 0 else { return errno }
        alarm = cplatform_open_alarm()
        guard alarm >= 0 else { return errno }
        let code = njl_epoll_watch(epoll, alarm, true, false)
        guard code == 0 else { return code }
        do throws(ThreadFailure) {
            thread = try startThread("nightjar-watch", stackSize: Descriptors.stackSize) { [self] in watch() }
            return 0
        } catch {
            return error.code
        }
    }

    private func watch() {
        var events = [njl_readiness](repeating: njl_readiness(), count: Descriptors.batch)
        while !state.withLock({ $0.isClosing }) {
            let count = Int(njl_epoll_wait(epoll, &events, Int32(events.count)))
            for event in events[..<count] { wake(event) }
        }
    }

    private func wake(_ event: njl_readiness) {
        let descriptor = event.descriptor
        let ready = state.withLock { state -> [Waiter] in
            guard descriptor != alarm else { return [] }
            let waiters = state.waiters[descriptor] ?? []
            let isReady = { (waiter: Waiter) in waiter.writes ? event.writes : event.reads }
            keep(waiters.filter { !isReady($0) }, of: descriptor, in: &state)
            return waiters.filter(isReady)
        }
        for waiter in ready { queue.run(waiter.ready) }
    }

    /// Stops the thread and returns when it has ended. No further `ready` is queued. Must not be called in a forked
    /// child, where the thread does not exist and the epoll instance is shared with the parent.
    func close() {
        guard let thread else { return }
        self.thread = nil
        state.withLock { state in
            state.isClosing = true
            state.waiters = [:]
        }
        cplatform_set_alarm(alarm)
        pthread_join(thread, nil)
        closeDescriptors()
    }

    private func closeDescriptors() {
        if alarm >= 0 { cplatform_close_alarm(alarm, false) }
        if epoll >= 0 { NightjarSystem.close(epoll) }
        (alarm, epoll) = (-1, -1)
    }

    /// The maximum number of events per epoll_wait.
    private static let batch = 64
    /// The stack size of the thread in bytes. The thread runs only code of this file and of the queue.
    private static let stackSize = 256 * 1024
}

extension Engine {
    func readiness(
        of descriptor: Int32, writes: Bool, for wait: OpaquePointer
    ) throws(NightjarError) -> Future {
        try checkProcess()
        let future = pending(for: wait)
        do throws(NightjarError) {
            let ticket = try descriptors.await(descriptor, writes: writes) { [weak self] in self?.complete(future) }
            guard let ticket else {
                complete(future)
                return future
            }
            future.abandon = { [descriptors, weak self, weak future] in
                descriptors.forget(ticket)
                if let future { self?.drop(future) }
            }
            return future
        } catch {
            drop(future)
            throw error
        }
    }
}

/// Returns the system's text for an errno value.
func systemText(_ code: Int32) -> String { String(cString: strerror(code)) }

@_cdecl("njl_descriptor_await") @implementation
public func njl_descriptor_await(
    _ engine: OpaquePointer?, _ descriptor: Int32, _ writes: Bool, _ wait: OpaquePointer?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let wait else {
            throw NightjarError(.closed, "the Lua state is closed")
        }
        return Handle<Future>.make(try engine.readiness(of: descriptor, writes: writes, for: wait))
    }
}
