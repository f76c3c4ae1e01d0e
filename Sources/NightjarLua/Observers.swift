import CLua
import Nightjar
import NightjarHTTP
import NightjarHandles

// The observer of a client in Lua: a function that receives the steps of the client's calls.

extension Configuration {
    /// Passes the steps of calls to the script.
    ///
    /// - Parameter number: The number of the client.
    mutating func reportSteps(to engine: Engine, _ number: Int64) {
        let callbacks = engine.callbacks
        observers.append(.steps(to: StepInbox { callbacks.add(ScriptCallback(number, .steps($0))) }))
    }
}

extension CallObserver.Step {
    /// The step as a table of the script.
    fileprivate var text: BorrowedText {
        let (name, members) = kind.described
        let table = JSONValue.object(
            [
                .init("step", .string(name)), .init("call_id", .integer(Int64(callID))),
                .init("time", .number(time.inSeconds)), .init("attempt", .integer(Int64(attempt))),
                .init("dropped", .integer(Int64(dropped))),
            ] + members.compactMap { $0 })
        return BorrowedText((try? table.encoded()).map { String(buffer: $0) } ?? "{}")
    }
}

extension CallObserver.Step.Kind {
    /// The name of the step and the members that only some steps have. A member without a value is nil.
    fileprivate var described: (name: String, members: [JSONValue.Member?]) {
        switch self {
        case .started(let method, let url):
            ("started", [.init("method", .string(method.name)), .init("url", .string(url))])
        case .resolved(let host, let length): ("resolved", [.init("host", .string(host)), .init(length)])
        case .connected(let peer, let length): ("connected", [.init("address", text: peer), .init(length)])
        case .secured(let length): ("secured", [.init(length)])
        case .sent(let peer, let version, let isReused):
            (
                "sent",
                [
                    .init("address", text: peer), .init("http_version", text: version?.number),
                    .init("reused", .bool(isReused)),
                ]
            )
        case .firstByte(let status): ("first_byte", [.init(status: status)])
        case .redirected(let status, let url): ("redirected", [.init(status: status), .init("url", .string(url))])
        case .retried(let error, let wait): ("retried", [.init("error", .string(error.name)), .init(wait)])
        case .cacheHit(let source, let age): ("cache_hit", [.init("source", .string(source.name)), .init(age)])
        case .ended(let status, let source):
            ("ended", [.init(status: status), .init("source", .string(source.name))])
        case .failed(let error, let status):
            ("ended", [.init("error", .string(error.name)), .init(status: status)])
        }
    }
}

extension JSONValue.Member {
    fileprivate init?(_ name: String, text: String?) {
        guard let text else { return nil }
        self.init(name, .string(text))
    }

    fileprivate init(_ duration: Duration) { self.init("duration", .number(duration.inSeconds)) }

    fileprivate init?(status: Int?) {
        guard let status else { return nil }
        self.init("status", .integer(Int64(status)))
    }
}

extension HTTPVersion {
    /// The version as in the field `http_version` of a response.
    fileprivate var number: String {
        switch self {
        case .http1_0: "1.0"
        case .http1_1: "1.1"
        case .http2: "2"
        }
    }
}

@_cdecl("njl_callback_take_step") @implementation
public func njl_callback_take_step(_ callback: OpaquePointer?) -> OpaquePointer? {
    Handle<ScriptCallback>.borrow(callback)?.takeStep().map { Handle.make($0.text) }
}
