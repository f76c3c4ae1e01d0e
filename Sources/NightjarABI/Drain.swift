import CNightjar
import Nightjar
import NightjarHandles

@_cdecl("nj_client_drain") @implementation
public func nj_client_drain(
    _ client: OpaquePointer?, _ seconds: Double, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        try client.drainBlocking(within: try limit(seconds))
    }
}

@_cdecl("nj_client_start_drain") @implementation
public func nj_client_start_drain(
    _ client: OpaquePointer?, _ seconds: Double, _ queue: OpaquePointer?, _ done: nj_drain_done_fn?,
    _ context: UnsafeMutableRawPointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let queue = try requiredQueue(queue)
        let done = try required(done, "done")
        let context = CallbackContext(pointer: context)
        let drain = try client.drain(within: try limit(seconds), on: queue) { report($0, to: done, context) }
        return Handle.make(drain)
    }
}
