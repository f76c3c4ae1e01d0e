import CNightjar
import Nightjar
import NightjarHandles
import NightjarSystem

/// The error of the last function without an `out_error` that failed on each thread.
enum LastError {
    /// Nil if the process has no key left. Errors are then not kept.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { error in
            if let error { Unmanaged<ErrorBox>.fromOpaque(error).release() }
        }
        return pthread_key_create(&key, release) == 0 ? key : nil
    }()

    static func set(_ error: NightjarError) {
        guard let key else { return }
        let before = pthread_getspecific(key)
        let new = Unmanaged.passRetained(ErrorBox(error))
        if pthread_setspecific(key, new.toOpaque()) == 0 {
            if let before { Unmanaged<ErrorBox>.fromOpaque(before).release() }
        } else {
            new.release()
        }
    }

    /// The error of this thread. Retained by the thread until the next failure.
    static var current: ErrorBox? {
        guard let key, let error = pthread_getspecific(key) else { return nil }
        return Unmanaged<ErrorBox>.fromOpaque(error).takeUnretainedValue()
    }
}

@_cdecl("nj_error_last") @implementation
public func nj_error_last() -> OpaquePointer? { LastError.current.map(Handle.lend) }
