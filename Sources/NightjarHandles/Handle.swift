/// Converts between objects and the opaque pointers that C and Lua hold. A new handle owns one reference.
public enum Handle<Object: AnyObject> {
    /// Returns a new handle, which the caller owns.
    @inlinable public static func make(_ object: Object) -> OpaquePointer {
        OpaquePointer(Unmanaged.passRetained(object).toOpaque())
    }

    /// Returns a handle that does not own a reference. The handle is valid as long as another owner holds the object.
    @inlinable public static func lend(_ object: Object) -> OpaquePointer {
        OpaquePointer(Unmanaged.passUnretained(object).toOpaque())
    }

    /// Returns the object of a handle, or nil for NULL. The handle keeps its reference.
    @inlinable public static func borrow(_ handle: OpaquePointer?) -> Object? {
        handle.map { Unmanaged<Object>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue() }
    }

    /// Returns the object of a handle and takes over its reference. Returns nil for NULL. The handle is then invalid.
    @inlinable public static func take(_ handle: OpaquePointer?) -> Object? {
        handle.map { Unmanaged<Object>.fromOpaque(UnsafeRawPointer($0)).takeRetainedValue() }
    }

    /// Adds a reference to a handle, which ``release(_:)`` must release.
    @inlinable public static func retain(_ handle: OpaquePointer?) {
        guard let handle else { return }
        _ = Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).retain()
    }

    /// Releases one reference of a handle.
    @inlinable public static func release(_ handle: OpaquePointer?) {
        guard let handle else { return }
        Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).release()
    }
}
