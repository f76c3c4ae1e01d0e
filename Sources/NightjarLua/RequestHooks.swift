import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

// The function on_request of a client, which reads the requests of its calls and sets headers.

extension Configuration {
    /// Passes the request of each call to the script.
    ///
    /// - Parameter number: The number of the client.
    mutating func decideRequests(by callbacks: ScriptCallbacks, _ number: Int64) {
        hooks = CallHooks(deferred: { callbacks.add(ScriptCallback(number, hooked: $0)) })
    }
}

extension CallHooks.Pending {
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
