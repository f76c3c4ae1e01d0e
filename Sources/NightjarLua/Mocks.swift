import CLua
import NIOCore
import Nightjar
import NightjarHandles
import NightjarTesting

// Mocks of scripts: their routes, the responses of their functions, and the recorded requests.

extension ArrivedRequest {
    /// Returns the request in the form for scripts: header names in lower case, and lists for repeated names. Includes
    /// the body if it is text.
    fileprivate func described(_ more: [JSONValue.Member]) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("method", .string(method.name)),
            .init("url", .string(url.origin.description + url.target)),
            .init("path", .string(url.path)),
            .init("query", JSONValue(items: query)),
            .init("headers", JSONValue(items: headers.map { (name: $0.name.lowercased(), value: $0.value) })),
        ]
        if let text = String(validating: body.readableBytesView, as: UTF8.self) {
            members.append(.init("body", .string(text)))
        }
        if let json { members.append(.init("json", json)) }
        return .object(members + more)
    }
}

extension MockRequest {
    var text: BorrowedText {
        let json = request.described([.init("params", JSONValue(items: parameters))])
        return BorrowedText((try? json.encoded()).map { String(buffer: $0) } ?? "{}")
    }
}

@_cdecl("njl_mock_new") @implementation
public func njl_mock_new(
    _ routes: njl_bytes, _ engine: OpaquePointer?, _ number: Int64, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine) else {
            throw NightjarError(.closed, "the script has ended")
        }
        let callbacks = engine.callbacks
        return Handle<Mock>.make(
            try Mock(json: routes.buffer) { callbacks.add(ScriptCallback(number, .mocked($0))) })
    }
}

@_cdecl("njl_mock_release") @implementation
public func njl_mock_release(_ mock: OpaquePointer?) { Handle<Mock>.release(mock) }

@_cdecl("njl_mock_reset") @implementation
public func njl_mock_reset(_ mock: OpaquePointer?) { Handle<Mock>.borrow(mock)?.reset() }

@_cdecl("njl_mock_verify") @implementation
public func njl_mock_verify(_ mock: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let mock, let borrowed = Handle<Mock>.borrow(mock) else {
            throw NightjarError(.closed, "the mock was released")
        }
        try borrowed.verify()
        return mock
    } != nil
}

@_cdecl("njl_mock_uses") @implementation
public func njl_mock_uses(_ mock: OpaquePointer?, _ route: njl_bytes) -> Int64 {
    guard let mock = Handle<Mock>.borrow(mock) else { return -1 }
    guard route.data != nil else { return Int64(mock.totalUses) }
    return mock.uses(of: String(decoding: route.buffer, as: UTF8.self)).map(Int64.init) ?? -1
}

@_cdecl("njl_mock_calls") @implementation
public func njl_mock_calls(_ mock: OpaquePointer?) -> OpaquePointer? {
    guard let mock = Handle<Mock>.borrow(mock) else { return nil }
    let routes = mock.routes
    let calls = mock.calls.map { call in
        guard let index = call.route else { return call.request.described([]) }
        let name = routes[index].name ?? routes[index].pattern.summary
        return call.request.described([.init("route", .string(name))])
    }
    return Handle.make(BorrowedText((try? JSONValue.array(calls).encoded()).map { String(buffer: $0) } ?? "[]"))
}

// MARK: Response functions

@_cdecl("njl_callback_respond") @implementation
public func njl_callback_respond(_ callback: OpaquePointer?, _ response: njl_bytes, _ body: njl_bytes) {
    guard let callback = Handle<ScriptCallback>.borrow(callback) else { return }
    callback.respond(
        mocked: Result { () throws(NightjarError) in
            var made = try MockResponse(option: JSONValue(parsing: response.buffer), "response")
            if body.data != nil { made.body = try ByteBuffer(copying: body.buffer, for: "the body") }
            return made
        })
}
