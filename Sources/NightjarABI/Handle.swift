import CNightjar
import Glibc
import Nightjar
import NightjarHandles

/// Text that came as a C string.
///
/// - Returns: nil for NULL and for bytes that are not UTF-8.
func text(_ pointer: UnsafePointer<CChar>?) -> String? {
    pointer.flatMap { CheckedMemory.isAvailable(strlen($0)) ? String(validatingCString: $0) : nil }
}

/// What C gave us to give back: never read, so no thread can be the wrong one.
struct CallbackContext: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
}

/// A C string that lives as long as its owner.
final class CString: Sendable {
    nonisolated(unsafe) let pointer: UnsafePointer<CChar>

    init(_ text: String) {
        var text = text
        pointer = text.withUTF8 { bytes in
            let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count + 1)
            for (index, byte) in bytes.enumerated() { copy[index] = CChar(bitPattern: byte) }
            copy[bytes.count] = 0
            return UnsafePointer(copy.baseAddress.unsafelyUnwrapped)
        }
    }

    deinit { pointer.deallocate() }
}

extension nj_status {
    init(_ kind: ErrorKind) { self.init(UInt32(kind.rawValue)) }
}

/// Runs what may fail, leaving an error for the caller to free.
///
/// - Returns: nil when it failed.
func reporting<Result>(
    to outError: UnsafeMutablePointer<OpaquePointer?>?, _ body: () throws(NightjarError) -> Result
) -> Result? {
    outError?.pointee = nil
    do throws(NightjarError) {
        return try body()
    } catch {
        outError?.pointee = Handle.make(ErrorBox(error))
        return nil
    }
}

/// A handle or a text that a function cannot do without.
func required<Value>(_ value: Value?, _ what: String) throws(NightjarError) -> Value {
    guard let value else { throw NightjarError(.invalidArgument, "\(what) is NULL or not UTF-8") }
    return value
}

/// A queue that a function delivers to.
///
/// - Throws: `invalid_argument` for NULL; `forked` for the queue of a forked process's parent, which nobody could poll.
func requiredQueue(_ queue: OpaquePointer?) throws(NightjarError) -> CompletionQueue {
    let queue = try required(Handle<CompletionQueue>.borrow(queue), "queue")
    guard !queue.isOfParent else {
        throw NightjarError(.forked, "this queue belongs to the parent process; make a new one after fork")
    }
    return queue
}

/// A text that may be left away: NULL is nil. What is there must be UTF-8.
func optional(_ pointer: UnsafePointer<CChar>?, _ what: String) throws(NightjarError) -> String? {
    pointer == nil ? nil : try required(text(pointer), what)
}

/// Runs a setter that may refuse what it is given.
func setting(_ body: () throws(NightjarError) -> Void) -> nj_status {
    do throws(NightjarError) {
        try body()
        return NJ_OK
    } catch {
        return nj_status(error.kind)
    }
}

/// The same where the error is told too.
func setting(
    _ outError: UnsafeMutablePointer<OpaquePointer?>?, _ body: () throws(NightjarError) -> Void
) -> nj_status {
    outError?.pointee = nil
    do throws(NightjarError) {
        try body()
        return NJ_OK
    } catch {
        outError?.pointee = Handle.make(ErrorBox(error))
        return nj_status(error.kind)
    }
}
