import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

// The hooks of a client in Lua. The function on_request reads the request of each call and sets headers. The function
// on_store decides whether a response is stored.

extension Configuration {
    /// Passes the request of each call, and each response that the cache could store, to the functions of the script.
    mutating func attachHooks(_ callbacks: ScriptCallbacks, of listener: njl_listener) {
        let number = listener.number
        let request = { @Sendable (pending: CallHooks.Pending) in
            callbacks.add(ScriptCallback(number, .hooked(pending)))
        }
        let store = { @Sendable (pending: CallHooks.PendingStore) in
            callbacks.add(ScriptCallback(number, .hooked(pending)))
        }
        hooks = CallHooks(
            deferred: listener.decides_requests ? request : nil, store: listener.decides_storing ? store : nil)
    }
}

/// A decision of a hook that the script makes.
protocol HookDecision: Sendable {
    /// The name of the function.
    var name: StaticString { get }
    var kind: njl_callback_kind { get }
    /// The table for the function, as JSON and without a body.
    var text: BorrowedText { get }
    /// The body in the table, or the record.
    var body: ByteBuffer? { get }
    /// Responds with the results of the function.
    func decide(_ choice: njl_choice, _ text: njl_bytes)
    func fail(_ message: String)
}

extension CallHooks.PendingStore: HookDecision {
    var name: StaticString { "on_store" }
    var kind: njl_callback_kind { NJL_STORE }
    var body: ByteBuffer? { nil }

    var text: BorrowedText {
        let fields = response.headers.map { (name: $0.name.lowercased(), value: $0.value) }
        let table = JSONValue.object([
            .init("call_id", .integer(Int64(request.callID))),
            .init("method", .string(request.method.name)),
            .init("url", .string(response.location.origin.description + response.location.target)),
            .init("status", .integer(Int64(response.status))),
            .init("headers", JSONValue(items: fields)),
        ])
        return BorrowedText((try? table.encoded()).map { String(buffer: $0) } ?? "{}")
    }

    func decide(_ choice: njl_choice, _ text: njl_bytes) { respond(choice != NJL_CHOOSE_CANCEL) }

    /// An error of the function does not fail the call. The response is not stored.
    func fail(_ message: String) { respond(false) }
}

extension CallHooks.Pending: HookDecision {
    var name: StaticString { "on_request" }
    var kind: njl_callback_kind { NJL_CALL_REQUEST }
    var body: ByteBuffer? { request.body }

    func fail(_ message: String) { respond(.failure(NightjarError(.script, message))) }

    /// The request as a table of the script, without the body.
    var text: BorrowedText {
        let fields = request.headers.map { (name: $0.name.lowercased(), value: $0.value) }
        let table = JSONValue.object([
            .init("call_id", .integer(Int64(request.callID))),
            .init("method", .string(request.method.name)),
            .init("url", .string(request.url.origin.description + request.url.target)),
            .init("path", .string(request.url.path)),
            .init("headers", JSONValue(items: fields)),
        ])
        return BorrowedText((try? table.encoded()).map { String(buffer: $0) } ?? "{}")
    }

    /// Responds with the results of the script's function.
    func decide(_ choice: njl_choice, _ text: njl_bytes) {
        switch choice {
        case NJL_CHOOSE_TABLE:
            respond(
                Result { () throws(NightjarError) in
                    try request.setting(JSONValue(parsing: text.buffer))
                })
        case NJL_CHOOSE_CANCEL:
            let why = text.data == nil ? "" : ": " + String(decoding: text.buffer, as: UTF8.self)
            respond(.failure(NightjarError(.cancelled, "the function on_request rejected the request\(why)")))
        default: respond(.success(request))
        }
    }
}

extension CallHooks.Request {
    /// Returns a copy with the headers of a script's table.
    fileprivate func setting(_ table: JSONValue) throws(NightjarError) -> CallHooks.Request {
        var copy = self
        // An empty table is encoded as an array.
        guard case .object(let members) = table else { return copy }
        for member in members {
            switch member.value {
            case .string(let value): try copy.setHeader(member.name, value)
            case .integer(let value): try copy.setHeader(member.name, String(value))
            case .bool(false): try copy.setHeader(member.name, nil)
            default:
                throw NightjarError(
                    .invalidArgument,
                    "on_request: the header \"\(member.name)\" must be a string, an integer, or false to remove it")
            }
        }
        return copy
    }
}
