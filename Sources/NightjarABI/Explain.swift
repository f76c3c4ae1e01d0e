import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles
import Synchronization

/// The decisions of a call as texts for C, created on first use.
final class ExplanationStrings: Sendable {
    private struct Texts {
        var sentences: CString?
        var json: CString?
        var key: CString?
    }

    private let texts = Mutex(Texts())

    func sentences(_ explanation: @autoclosure () -> String) -> UnsafePointer<CChar> {
        texts.withLock { texts in
            let text = texts.sentences ?? CString(explanation())
            texts.sentences = text
            return text.pointer
        }
    }

    func json(_ decisions: [Decision]) -> CString {
        texts.withLock { texts in
            let text = texts.json ?? CString(ExplanationStrings.encoded(decisions))
            texts.json = text
            return text
        }
    }

    func idempotencyKey(_ request: RequestRecord?) -> UnsafePointer<CChar>? {
        guard let key = request?.headers[IdempotencyKey.fieldName] else { return nil }
        return texts.withLock { texts in
            let text = texts.key ?? CString(key)
            texts.key = text
            return text.pointer
        }
    }

    /// Returns the decisions as JSON. Encoding cannot fail: decisions contain no NaN or infinite numbers.
    private static func encoded(_ decisions: [Decision]) -> String {
        (try? JSONValue.array(decisions.map(\.json)).encoded()).map { String(buffer: $0) } ?? "[]"
    }
}

@_cdecl("nj_response_explain") @implementation
public func nj_response_explain(_ response: OpaquePointer?) -> UnsafePointer<CChar>? {
    guard let box = Handle<ResponseBox>.borrow(response) else { return nil }
    return box.texts.explanation.sentences(box.response.explanation)
}

@_cdecl("nj_response_explain_json") @implementation
public func nj_response_explain_json(
    _ response: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    lend(Handle<ResponseBox>.borrow(response).map { $0.texts.explanation.json($0.response.decisions) }, outLength)
}

@_cdecl("nj_response_idempotency_key") @implementation
public func nj_response_idempotency_key(_ response: OpaquePointer?) -> UnsafePointer<CChar>? {
    guard let box = Handle<ResponseBox>.borrow(response) else { return nil }
    return box.texts.explanation.idempotencyKey(box.response.request)
}

@_cdecl("nj_error_explain") @implementation
public func nj_error_explain(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    guard let box = Handle<ErrorBox>.borrow(error) else { return nil }
    return box.explanation.sentences(box.error.decisions.explanation)
}

@_cdecl("nj_error_explain_json") @implementation
public func nj_error_explain_json(
    _ error: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    lend(Handle<ErrorBox>.borrow(error).map { $0.explanation.json($0.error.decisions) }, outLength)
}

@_cdecl("nj_error_idempotency_key") @implementation
public func nj_error_idempotency_key(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    guard let box = Handle<ErrorBox>.borrow(error) else { return nil }
    return box.explanation.idempotencyKey(box.error.request)
}

@_cdecl("nj_error_earlier_count") @implementation
public func nj_error_earlier_count(_ error: OpaquePointer?) -> Int {
    Handle<ErrorBox>.borrow(error)?.earlier.count ?? 0
}

@_cdecl("nj_error_earlier") @implementation
public func nj_error_earlier(_ error: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard let earlier = Handle<ErrorBox>.borrow(error)?.earlier, earlier.indices.contains(index) else { return nil }
    return Handle.lend(earlier[index])
}
