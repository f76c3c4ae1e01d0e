import CNightjar
import Nightjar
import NightjarHandles

@_cdecl("nj_canceller_new") @implementation
public func nj_canceller_new() -> OpaquePointer! { Handle.make(Request.Canceller()) }

@_cdecl("nj_canceller_free") @implementation
public func nj_canceller_free(_ canceller: OpaquePointer?) { _ = Handle<Request.Canceller>.take(canceller) }

@_cdecl("nj_canceller_cancel") @implementation
public func nj_canceller_cancel(_ canceller: OpaquePointer?) { Handle<Request.Canceller>.borrow(canceller)?.cancel() }

@_cdecl("nj_canceller_is_cancelled") @implementation
public func nj_canceller_is_cancelled(_ canceller: OpaquePointer?) -> Bool {
    Handle<Request.Canceller>.borrow(canceller)?.isCancelled ?? false
}

@_cdecl("nj_request_set_canceller") @implementation
public func nj_request_set_canceller(_ request: OpaquePointer?, _ canceller: OpaquePointer?) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        box.request.canceller = Handle<Request.Canceller>.borrow(canceller)
    }
}
