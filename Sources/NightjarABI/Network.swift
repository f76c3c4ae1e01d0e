import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// The status of the network as C sees it.
final class NetworkBox {
    let status: NetworkStatus
    let interface: CString?
    let kind: CString?

    init(_ status: NetworkStatus) {
        self.status = status
        interface = status.interface.map(CString.init)
        kind = (status.kind?.rawValue).map(CString.init)
    }
}

extension nj_tristate {
    init(_ value: Bool?) { self = value.map { $0 ? NJ_YES : NJ_NO } ?? NJ_UNKNOWN }
}

extension nj_offline_reason {
    init(_ reason: OfflineReason?) {
        self =
            switch reason {
            case nil: NJ_OFFLINE_REASON_UNKNOWN
            case .noNetwork: NJ_OFFLINE_NO_NETWORK
            case .metered: NJ_OFFLINE_METERED
            case .constrained: NJ_OFFLINE_CONSTRAINED
            }
    }
}

@_cdecl("nj_network_status") @implementation
public func nj_network_status() -> OpaquePointer! { Handle.make(NetworkBox(Network.status)) }

@_cdecl("nj_network_free") @implementation
public func nj_network_free(_ network: OpaquePointer?) { _ = Handle<NetworkBox>.take(network) }

@_cdecl("nj_network_is_online") @implementation
public func nj_network_is_online(_ network: OpaquePointer?) -> Bool {
    Handle<NetworkBox>.borrow(network)?.status.isOnline ?? true
}

@_cdecl("nj_network_metered") @implementation
public func nj_network_metered(_ network: OpaquePointer?) -> nj_tristate {
    nj_tristate(Handle<NetworkBox>.borrow(network)?.status.isMetered)
}

@_cdecl("nj_network_captive") @implementation
public func nj_network_captive(_ network: OpaquePointer?) -> nj_tristate {
    nj_tristate(Handle<NetworkBox>.borrow(network)?.status.isCaptive)
}

@_cdecl("nj_network_is_constrained") @implementation
public func nj_network_is_constrained(_ network: OpaquePointer?) -> Bool {
    Handle<NetworkBox>.borrow(network)?.status.isConstrained ?? false
}

@_cdecl("nj_network_interface") @implementation
public func nj_network_interface(_ network: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<NetworkBox>.borrow(network)?.interface?.pointer
}

@_cdecl("nj_network_kind") @implementation
public func nj_network_kind(_ network: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<NetworkBox>.borrow(network)?.kind?.pointer
}

@_cdecl("nj_network_set_constrained") @implementation
public func nj_network_set_constrained(_ constrained: Bool) { Network.setConstrained(constrained) }

@_cdecl("nj_network_observer_new") @implementation
public func nj_network_observer_new(
    _ queue: OpaquePointer?, _ changed: nj_network_fn?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let queue = try requiredQueue(queue)
        let changed = try required(changed, "changed")
        let context = CallbackContext(pointer: context)
        return Handle.make(
            NetworkObserver(on: queue) { status in
                let box = NetworkBox(status)
                withExtendedLifetime(box) { changed(context.pointer, Handle.lend(box)) }
            })
    }
}

@_cdecl("nj_network_observer_free") @implementation
public func nj_network_observer_free(_ observer: OpaquePointer?) { Handle<NetworkObserver>.take(observer)?.cancel() }

// MARK: Waiting for the network

@_cdecl("nj_config_set_wait_for_connectivity") @implementation
public func nj_config_set_wait_for_connectivity(_ config: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.connectivity.maximumWait = try lifetime(seconds)
    }
}

@_cdecl("nj_request_set_wait_for_connectivity") @implementation
public func nj_request_set_wait_for_connectivity(_ request: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeConnectivity(request) { changes throws(NightjarError) in changes.maximumWait = try lifetime(seconds) }
}

@_cdecl("nj_config_set_allow_metered") @implementation
public func nj_config_set_allow_metered(_ config: OpaquePointer?, _ allow: Bool) -> nj_status {
    changeConfig(config) { $0.connectivity.allowsMetered = allow }
}

@_cdecl("nj_request_set_allow_metered") @implementation
public func nj_request_set_allow_metered(_ request: OpaquePointer?, _ allow: Bool) -> nj_status {
    changeConnectivity(request) { $0.allowsMetered = allow }
}

@_cdecl("nj_config_set_allow_constrained") @implementation
public func nj_config_set_allow_constrained(_ config: OpaquePointer?, _ allow: Bool) -> nj_status {
    changeConfig(config) { $0.connectivity.allowsConstrained = allow }
}

@_cdecl("nj_request_set_allow_constrained") @implementation
public func nj_request_set_allow_constrained(_ request: OpaquePointer?, _ allow: Bool) -> nj_status {
    changeConnectivity(request) { $0.allowsConstrained = allow }
}

@_cdecl("nj_request_on_waiting") @implementation
public func nj_request_on_waiting(
    _ request: OpaquePointer?, _ waiting: nj_waiting_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { $0.onWaiting(waiting, CallbackContext(pointer: context)) }
}

@_cdecl("nj_error_offline_reason") @implementation
public func nj_error_offline_reason(_ error: OpaquePointer?) -> nj_offline_reason {
    nj_offline_reason(Handle<ErrorBox>.borrow(error)?.error.offlineReason)
}

private func changeConnectivity(
    _ request: OpaquePointer?, _ body: (inout ConnectivityChanges) throws(NightjarError) -> Void
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        try body(&box.request.connectivity)
    }
}
