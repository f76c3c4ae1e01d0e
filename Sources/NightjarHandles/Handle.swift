/// Converts between objects and the opaque pointers by which C and Lua hold them. A handle that was made owns one reference.
public enum Handle<Object: AnyObject> {
    /// Returns a new handle, which its receiver owns.
    @inlinable public static func make(_ object: Object) -> OpaquePointer {
        OpaquePointer(Unmanaged.passRetained(object).toOpaque())
    }

    /// Returns a handle that is valid as long as somebody else holds the object.
    @inlinable public static func lend(_ object: Object) -> OpaquePointer {
        OpaquePointer(Unmanaged.passUnretained(object).toOpaque())
    }

    /// Returns the object of a handle, which keeps its reference; nil for NULL.
    @inlinable public static func borrow(_ handle: OpaquePointer?) -> Object? {
        handle.map { Unmanaged<Object>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue() }
    }

    /// Returns the object of a handle and takes over the handle's reference; nil for NULL. The handle is invalid afterwards.
    @inlinable public static func take(_ handle: OpaquePointer?) -> Object? {
        handle.map { Unmanaged<Object>.fromOpaque(UnsafeRawPointer($0)).takeRetainedValue() }
    }

    /// Adds an owner to a handle: ``release(_:)`` must be called once more.
    @inlinable public static func retain(_ handle: OpaquePointer?) {
        guard let handle else { return }
        _ = Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).retain()
    }

    /// Releases the reference that one owner of a handle holds.
    @inlinable public static func release(_ handle: OpaquePointer?) {
        guard let handle else { return }
        Unmanaged<Object>.fromOpaque(UnsafeRawPointer(handle)).release()
    }
}
