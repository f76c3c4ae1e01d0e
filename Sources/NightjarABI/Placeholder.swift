import CNightjar
@_cdecl("nj_task_cancel") @implementation
public func nj_task_cancel(_ task: OpaquePointer?) {
}
@_cdecl("nj_version") @implementation
public func nj_version() -> UnsafePointer<CChar>! { return nil }
