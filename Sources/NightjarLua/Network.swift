import CLua
import Nightjar
import NightjarHandles

/// The changes of the network that a script has not read, at most the last 16. Belongs to the thread that runs the Lua
/// state.
final class NetworkChanges: @unchecked Sendable {
    private var observer: NetworkObserver?
    private var statuses: [NetworkStatus] = []
    /// The outcome that waits for the next status.
    private var awaited: Future?
    private let engine: Engine

    init(_ engine: Engine) {
        self.engine = engine
        observer = NetworkObserver(on: engine.queue) { [weak self] in self?.add($0) }
    }

    func close() {
        observer.take()?.cancel()
        statuses = []
        finish()
    }

    private func add(_ status: NetworkStatus) {
        if statuses.count == NetworkChanges.mostUnread { statuses.removeFirst() }
        statuses.append(status)
        finish()
    }

    private func finish() {
        if let future = awaited.take() { engine.complete(future) }
    }

    func take() -> NetworkStatus? { statuses.isEmpty ? nil : statuses.removeFirst() }

    func next(for wait: OpaquePointer) throws(NightjarError) -> Future {
        try engine.checkProcess()
        guard awaited == nil else {
            throw NightjarError(.invalidArgument, "another task already waits for the next change of the network")
        }
        let future = engine.pending(for: wait)
        future.abandon = { [weak self, weak future] in
            guard let self, let future else { return }
            awaited = nil
            engine.drop(future)
        }
        awaited = future
        return future
    }

    private static let mostUnread = 16
}

extension njl_network {
    init(_ status: NetworkStatus) {
        self.init()
        is_online = status.isOnline
        is_metered = status.isMetered.map { $0 ? 1 : 0 } ?? -1
        is_captive = status.isCaptive.map { $0 ? 1 : 0 } ?? -1
        is_constrained = status.isConstrained
        withUnsafeMutableBytes(of: &interface) { $0.copy(text: status.interface ?? "") }
        withUnsafeMutableBytes(of: &kind) { $0.copy(text: status.kind?.rawValue ?? "") }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Copies a text that fits, followed by NUL.
    fileprivate func copy(text: String) {
        let bytes = text.utf8.prefix(Swift.max(count - 1, 0))
        for (index, byte) in bytes.enumerated() { self[index] = byte }
    }
}

@_cdecl("njl_network_read") @implementation
public func njl_network_read(_ status: UnsafeMutablePointer<njl_network>?) {
    status?.pointee = njl_network(Network.status)
}

@_cdecl("njl_network_set_constrained") @implementation
public func njl_network_set_constrained(_ isConstrained: Bool) { Network.setConstrained(isConstrained) }

@_cdecl("njl_changes_new") @implementation
public func njl_changes_new(_ engine: OpaquePointer?) -> OpaquePointer? {
    Handle<Engine>.borrow(engine).map { Handle<NetworkChanges>.make(NetworkChanges($0)) }
}

@_cdecl("njl_changes_free") @implementation
public func njl_changes_free(_ changes: OpaquePointer?) {
    Handle<NetworkChanges>.take(changes)?.close()
}

@_cdecl("njl_changes_take") @implementation
public func njl_changes_take(_ changes: OpaquePointer?, _ status: UnsafeMutablePointer<njl_network>?) -> Bool {
    guard let taken = Handle<NetworkChanges>.borrow(changes)?.take() else { return false }
    status?.pointee = njl_network(taken)
    return true
}

@_cdecl("njl_changes_await") @implementation
public func njl_changes_await(
    _ engine: OpaquePointer?, _ changes: OpaquePointer?, _ wait: OpaquePointer?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let changes = Handle<NetworkChanges>.borrow(changes), let wait else {
            throw NightjarError(.closed, "the changes are closed")
        }
        return Handle<Future>.make(try changes.next(for: wait))
    }
}
