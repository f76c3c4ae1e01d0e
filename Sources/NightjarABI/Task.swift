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

@_cdecl("nj_task_call_id") @implementation
public func nj_task_call_id(_ task: OpaquePointer?) -> Int64 {
    Int64((Handle<ClientWork>.borrow(task) as? ClientTask)?.callID ?? 0)
}

@_cdecl("nj_task_wait") @implementation
public func nj_task_wait(
    _ task: OpaquePointer?, _ seconds: Double, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let task = try required(Handle<ClientWork>.borrow(task), "task")
        try task.waitBlocking(timeout: try limit(seconds))
    }
}

@_cdecl("nj_task_pause") @implementation
public func nj_task_pause(_ task: OpaquePointer?) { Handle<ClientWork>.borrow(task)?.pause() }

@_cdecl("nj_task_resume") @implementation
public func nj_task_resume(_ task: OpaquePointer?) { Handle<ClientWork>.borrow(task)?.resume() }

@_cdecl("nj_task_resume_body") @implementation
public func nj_task_resume_body(_ task: OpaquePointer?) {
    (Handle<ClientWork>.borrow(task) as? ClientTask)?.resumeBody()
}

@_cdecl("nj_task_retain") @implementation
public func nj_task_retain(_ task: OpaquePointer?) -> OpaquePointer? {
    Handle<ClientWork>.borrow(task).map { Handle.make($0) }
}

@_cdecl("nj_task_release") @implementation
public func nj_task_release(_ task: OpaquePointer?) {
    _ = Handle<ClientWork>.take(task)
}
