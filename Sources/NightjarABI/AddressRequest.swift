import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarTransport

/// An address request as C sees it, and its texts. If C releases it without a response, the waiting calls fail.
final class AddressRequestBox: Sendable {
    let request: TransportConfiguration.AddressRequest
    let host: CString
    let addresses: [CString]

    init(_ request: TransportConfiguration.AddressRequest) {
        self.request = request
        host = CString(request.host)
        addresses = request.addresses.map { CString($0.description) }
    }
}

/// Converts a C callback, which never runs on the library's threads.
private func callback(
    _ queue: OpaquePointer?, _ decide: nj_address_fn?, _ context: UnsafeMutableRawPointer?
) throws(NightjarError) -> TransportConfiguration.AddressCallback? {
    guard let decide else { return nil }
    let queue = queue == nil ? nil : try requiredQueue(queue)
    let context = CallbackContext(pointer: context)
    return TransportConfiguration.AddressCallback(onQueuesAnd: queue) { request in
        let box = AddressRequestBox(request)
        withExtendedLifetime(box) { decide(context.pointer, Handle.lend(box)) }
    }
}

@_cdecl("nj_config_set_resolver") @implementation
public func nj_config_set_resolver(
    _ config: OpaquePointer?, _ queue: OpaquePointer?, _ resolve: nj_address_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.resolver = try callback(queue, resolve, context)
    }
}

@_cdecl("nj_config_on_addresses") @implementation
public func nj_config_on_addresses(
    _ config: OpaquePointer?, _ queue: OpaquePointer?, _ decide: nj_address_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.onAddresses = try callback(queue, decide, context)
    }
}

@_cdecl("nj_address_request_host") @implementation
public func nj_address_request_host(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<AddressRequestBox>.borrow(request)?.host.pointer
}

@_cdecl("nj_address_request_port") @implementation
public func nj_address_request_port(_ request: OpaquePointer?) -> CInt {
    CInt(clamping: Handle<AddressRequestBox>.borrow(request)?.request.port ?? 0)
}

@_cdecl("nj_address_request_is_proxy") @implementation
public func nj_address_request_is_proxy(_ request: OpaquePointer?) -> Bool {
    Handle<AddressRequestBox>.borrow(request)?.request.isProxy ?? false
}

@_cdecl("nj_address_request_count") @implementation
public func nj_address_request_count(_ request: OpaquePointer?) -> Int {
    Handle<AddressRequestBox>.borrow(request)?.addresses.count ?? 0
}

@_cdecl("nj_address_request_at") @implementation
public func nj_address_request_at(_ request: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    guard let addresses = Handle<AddressRequestBox>.borrow(request)?.addresses, addresses.indices.contains(index)
    else { return nil }
    return addresses[index].pointer
}

@_cdecl("nj_address_request_respond") @implementation
public func nj_address_request_respond(
    _ request: OpaquePointer?, _ addresses: UnsafePointer<UnsafePointer<CChar>?>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<AddressRequestBox>.borrow(request), "request")
        var next = try required(addresses, "addresses")
        var read: [TransportConfiguration.IPAddress] = []
        while let pointer = next.pointee {
            guard read.count < TransportConfiguration.AddressRequest.maximumAddresses else {
                throw TransportConfiguration.AddressRequest.tooMany
            }
            read.append(try TransportConfiguration.IPAddress(try required(text(pointer), "an address")))
            next += 1
        }
        try box.request.respond(read)
    }
}

@_cdecl("nj_address_request_fail") @implementation
public func nj_address_request_fail(_ request: OpaquePointer?, _ message: UnsafePointer<CChar>?) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<AddressRequestBox>.borrow(request), "request")
        try box.request.fail(try optional(message, "message"))
    }
}

@_cdecl("nj_address_request_use_default") @implementation
public func nj_address_request_use_default(_ request: OpaquePointer?) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<AddressRequestBox>.borrow(request), "request").request.useDefault()
    }
}

@_cdecl("nj_address_request_retain") @implementation
public func nj_address_request_retain(_ request: OpaquePointer?) -> OpaquePointer? {
    Handle<AddressRequestBox>.borrow(request).map { Handle.make($0) }
}

@_cdecl("nj_address_request_release") @implementation
public func nj_address_request_release(_ request: OpaquePointer?) {
    _ = Handle<AddressRequestBox>.take(request)
}
