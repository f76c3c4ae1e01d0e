import CNightjar
import Nightjar
import NightjarHandles

@_cdecl("nj_queue_new") @implementation
public func nj_queue_new() -> OpaquePointer! { Handle.make(CompletionQueue()) }

@_cdecl("nj_queue_free") @implementation
public func nj_queue_free(_ queue: OpaquePointer?) {
    Handle<CompletionQueue>.take(queue)?.close()
}

@_cdecl("nj_queue_fd") @implementation
public func nj_queue_fd(_ queue: OpaquePointer?) -> Int32 {
    Handle<CompletionQueue>.borrow(queue)?.descriptor ?? -1
}

@_cdecl("nj_queue_poll") @implementation
public func nj_queue_poll(_ queue: OpaquePointer?, _ timeout: Double) -> Int {
    guard let queue = Handle<CompletionQueue>.borrow(queue) else { return 0 }
    // NaN does not wait; a timeout too long for Duration is unlimited.
    let maximumWait: Duration? = timeout >= 0 ? Duration(seconds: timeout) : (timeout < 0 ? nil : .zero)
    return queue.poll(timeout: maximumWait)
}

@_cdecl("nj_queue_wake") @implementation
public func nj_queue_wake(_ queue: OpaquePointer?) {
    Handle<CompletionQueue>.borrow(queue)?.wake()
}
