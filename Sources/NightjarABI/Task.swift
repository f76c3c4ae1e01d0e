import CNightjar
import Nightjar
import NightjarHandles

@_cdecl("nj_task_cancel") @implementation
public func nj_task_cancel(_ task: OpaquePointer?) {
    Handle<ClientWork>.borrow(task)?.cancel()
}

@_cdecl("nj_task_is_finished") @implementation
public func nj_task_is_finished(_ task: OpaquePointer?) -> Bool {
    Handle<ClientWork>.borrow(task).map { $0.isOfParent || $0.isFinished } ?? true
}

@_cdecl("nj_task_retain") @implementation
public func nj_task_retain(_ task: OpaquePointer?) -> OpaquePointer? {
    Handle<ClientWork>.borrow(task).map { Handle.make($0) }
}

@_cdecl("nj_task_release") @implementation
public func nj_task_release(_ task: OpaquePointer?) {
    _ = Handle<ClientWork>.take(task)
}
