import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem

/// Converts a C string. Returns nil for NULL, for invalid UTF-8, and if there is not enough memory.
func text(_ pointer: UnsafePointer<CChar>?) -> String? {
    pointer.flatMap { CheckedMemory.isAvailable(strlen($0)) ? String(validatingCString: $0) : nil }
}

/// Returns the texts of a list that ends with NULL. NULL is an empty list.
///
/// - Parameter what: An element, for the error message.
func texts(
    _ pointers: UnsafePointer<UnsafePointer<CChar>?>?, _ what: String
) throws(NightjarError) -> [String] {
    var texts: [String] = []
    guard var next = pointers else { return texts }
    while let pointer = next.pointee {
        texts.append(try required(text(pointer), what))
        next += 1
    }
    return texts
}

/// The `context` pointer of a callback. It is only passed back to C and never dereferenced, so any thread may hold it.
struct CallbackContext: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
}

/// A C string that lives as long as this object.
final class CString: Sendable {
    nonisolated(unsafe) let pointer: UnsafePointer<CChar>
    /// The length in bytes, without the NUL.
    let length: Int

    init(_ text: String) {
        var text = text
        pointer = text.withUTF8 { CString.copy(UnsafeRawBufferPointer($0)) }
        length = text.utf8.count
    }

    /// - Parameter text: UTF-8.
    init(_ text: ByteBuffer) {
        pointer = text.withUnsafeReadableBytes(CString.copy)
        length = text.readableBytes
    }

    private static func copy(_ bytes: UnsafeRawBufferPointer) -> UnsafePointer<CChar> {
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count + 1)
        if let start = bytes.baseAddress {
            UnsafeMutableRawPointer(copy).copyMemory(from: start, byteCount: bytes.count)
        }
        copy[bytes.count] = 0
        return UnsafePointer(copy)
    }

    deinit { pointer.deallocate() }
}

/// Returns a text and its length to C, which borrows the text.
func lend(_ text: CString?, _ outLength: UnsafeMutablePointer<Int>?) -> UnsafePointer<CChar>? {
    outLength?.pointee = text?.length ?? 0
    return text?.pointer
}

extension nj_status {
    init(_ kind: ErrorKind) { self.init(UInt32(kind.rawValue)) }
}

/// Runs `body`. If `body` throws, stores the error in `outError`, owned by the caller, and returns nil.
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

/// Returns a required handle or text. Throws `invalid_argument` if it is nil.
func required<Value>(_ value: Value?, _ what: String) throws(NightjarError) -> Value {
    guard let value else { throw NightjarError(.invalidArgument, "\(what) is NULL or a text that is not valid UTF-8") }
    return value
}

/// Returns the queue on which a C function delivers its events.
///
/// - Throws: `invalid_argument` for NULL; `forked` for a queue of the parent process, because no thread could poll it.
func requiredQueue(_ queue: OpaquePointer?) throws(NightjarError) -> CompletionQueue {
    let queue = try required(Handle<CompletionQueue>.borrow(queue), "queue")
    guard !queue.isOfParent else {
        throw NightjarError(.forked, "this queue belongs to the parent process; create a queue after fork")
    }
    return queue
}

/// Converts an optional C string. Returns nil for NULL; throws `invalid_argument` if the text is not UTF-8.
func optional(_ pointer: UnsafePointer<CChar>?, _ what: String) throws(NightjarError) -> String? {
    pointer == nil ? nil : try required(text(pointer), what)
}

/// Runs a function without an `out_error`, and converts an error to its status. The error is kept for nj_error_last.
func setting(_ body: () throws(NightjarError) -> Void) -> nj_status {
    do throws(NightjarError) {
        try body()
        return NJ_OK
    } catch {
        LastError.set(error)
        return nj_status(error.kind)
    }
}

/// Runs a function without an `out_error` that returns nil on failure. The error is kept for nj_error_last.
func making<Result>(_ body: () throws(NightjarError) -> Result) -> Result? {
    do throws(NightjarError) {
        return try body()
    } catch {
        LastError.set(error)
        return nil
    }
}

/// Runs a setter, converts an error to its status, and stores the error in `outError`.
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
