import CNightjar
import Nightjar
import NightjarHandles
import NightjarTransport

@_cdecl("nj_client_new") @implementation
public func nj_client_new(
    _ config: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        HostSignals.keepSIGPIPE()
        return Handle.make(try Client(Handle<ConfigBox>.borrow(config)?.complete ?? Configuration()))
    }
}

@_cdecl("nj_client_free") @implementation
public func nj_client_free(_ client: OpaquePointer?) {
    Handle<Client>.take(client)?.close()
}

@_cdecl("nj_client_send") @implementation
public func nj_client_send(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request")
        guard request.reportsRefresh else {
            return Handle.make(
                ResponseBox(
                    try client.sendBlocking(
                        try request.request(for: client), handlers: request.handlers { _, _ in })))
        }
        let ended = RefreshMark()
        let response = try client.sendBlocking(
            try request.request(for: client), handlers: request.handlers { task, _ in ended.note(task) })
        return Handle.make(ResponseBox(response, isBeingRefreshed: ended.isRefreshing))
    }
}

@_cdecl("nj_client_start") @implementation
public func nj_client_start(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ queue: OpaquePointer?, _ done: nj_done_fn?,
    _ context: UnsafeMutableRawPointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request")
        let queue = try requiredQueue(queue)
        let done = try required(done, "done")
        let context = CallbackContext(pointer: context)
        let reportsRefresh = request.reportsRefresh
        let handlers = request.handlers { task, result in
            withExtendedLifetime(task) {
                result.lend(isBeingRefreshed: reportsRefresh && task.isRefreshing) {
                    done(context.pointer, Handle.lend(task), $0, $1)
                }
            }
        }
        return try request.withRequest(for: client) { request throws(NightjarError) in
            Handle.make(try client.start(request, on: queue, handlers))
        }
    }
}
