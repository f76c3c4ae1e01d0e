import CLua
import Nightjar
import NightjarHandles

/// The changes of the network that a script has not read, at most the last 16. Belongs to the thread that runs the Lua
/// state.
final class NetworkChanges: @unchecked Sendable {
    private var observer: NetworkObserver?
    private var statuses: [NetworkStatus] = []
    private let waiter: ChangeWait

    init(_ engine: Engine) {
        waiter = ChangeWait(engine, "the network")
        observer = NetworkObserver(on: engine.queue) { [weak self] in self?.add($0) }
    }

    func close() {
        observer.take()?.cancel()
        statuses = []
        waiter.end()
    }

    private func add(_ status: NetworkStatus) {
        if statuses.count == NetworkChanges.mostUnread { statuses.removeFirst() }
        statuses.append(status)
        waiter.end()
    }

    func take() -> NetworkStatus? { statuses.isEmpty ? nil : statuses.removeFirst() }

    func next(for wait: OpaquePointer) throws(NightjarError) -> Future { try waiter.begin(wait) }

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
