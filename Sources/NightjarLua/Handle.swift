/// A Swift object as C holds it: an opaque pointer that owns one reference.
enum Handle<Object: AnyObject> {
    static func own(_ object: Object) -> OpaquePointer {
        OpaquePointer(Unmanaged.passRetained(object).toOpaque())
    }

    /// - Returns: nil for NULL.
    static func borrow(_ handle: OpaquePointer?) -> Object? {
        guard let handle else { return nil }
        return Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
    }

    static func retain(_ handle: OpaquePointer?) {
        guard let handle else { return }
        _ = Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).retain()
    }

    static func release(_ handle: OpaquePointer?) {
        guard let handle else { return }
        Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).release()
    }
}
