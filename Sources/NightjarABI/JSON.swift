import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import Synchronization

/// The JSON value of a response, parsed once, and the texts that C borrows.
final class ResponseJSON: Sendable {
    private struct State {
        var document: Result<JSONValue, NightjarError>?
        /// Texts by role and pointer: string values, member names and encoded parts.
        var texts: [Key: CString] = [:]
    }

    private struct Key: Hashable {
        enum Role: Hashable { case string, name, part }
        let role: Role
        let pointer: String
        var index = 0
    }

    private let state: Mutex<State>

    /// - Parameter document: The value, if it has already been parsed.
    init(_ document: JSONValue? = nil) { state = Mutex(State(document: document.map(Result.success))) }

    /// Returns the value that `pointer` refers to; nil if there is none or the response is not JSON.
    func value(at pointer: UnsafePointer<CChar>?, of response: Response) -> JSONValue? {
        guard let pointer = text(pointer), let pointer = try? JSONPointer(pointer) else { return nil }
        return (try? document(of: response)).flatMap(pointer.value)
    }

    func decode<Value: Decodable>(
        _ type: Value.Type, at pointer: UnsafePointer<CChar>?, of response: Response
    ) throws(NightjarError) -> Value {
        let pointer = try JSONPointer(required(text(pointer), "pointer"))
        do throws(NightjarError) {
            return try document(of: response).decode(type, at: pointer)
        } catch {
            throw error.about(response)
        }
    }

    func string(at pointer: UnsafePointer<CChar>?, of response: Response) throws(NightjarError) -> CString {
        let key = Key(role: .string, pointer: try required(text(pointer), "pointer"))
        return try kept(key) { () throws(NightjarError) in try decode(String.self, at: pointer, of: response) }
    }

    /// Returns the name of an object's member; nil if there is no such object or member.
    func name(at index: Int, in pointer: UnsafePointer<CChar>?, of response: Response) -> CString? {
        guard case .object(let members) = value(at: pointer, of: response), members.indices.contains(index),
            let pointer = text(pointer)
        else { return nil }
        return kept(Key(role: .name, pointer: pointer, index: index)) { members[index].name }
    }

    func part(at pointer: UnsafePointer<CChar>?, of response: Response) throws(NightjarError) -> CString {
        let key = Key(role: .part, pointer: try required(text(pointer), "pointer"))
        return try kept(key) { () throws(NightjarError) in
            String(buffer: try decode(JSONValue.self, at: pointer, of: response).encoded())
        }
    }

    private func document(of response: Response) throws(NightjarError) -> JSONValue {
        try state.withLock { state in
            let document = state.document ?? Result { () throws(NightjarError) in try response.json }
            state.document = document
            return document
        }.get()
    }

    /// Returns the text for `key`, creating it on first use. C may keep its pointer as long as the response.
    private func kept<Failure>(_ key: Key, _ make: () throws(Failure) -> String) throws(Failure) -> CString {
        if let known = state.withLock({ $0.texts[key] }) { return known }
        let made = CString(try make())
        return state.withLock { state in
            let text = state.texts[key] ?? made
            state.texts[key] = text
            return text
        }
    }
}

/// Decodes the value that `pointer` refers to into `out`.
private func read<Value: Decodable>(
    _ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?, _ out: UnsafeMutablePointer<Value>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<ResponseBox>.borrow(response), "response")
        let out = try required(out, "out")
        out.pointee = try box.texts.json.decode(Value.self, at: pointer, of: box.response)
    }
}

@_cdecl("nj_response_text") @implementation
public func nj_response_text(
    _ response: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    let text = Handle<ResponseBox>.borrow(response)?.texts.text
    return lend(text, outLength)
}

@_cdecl("nj_response_json_type") @implementation
public func nj_response_json_type(_ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?) -> nj_json_type {
    guard let box = Handle<ResponseBox>.borrow(response) else { return NJ_JSON_NONE }
    return switch box.texts.json.value(at: pointer, of: box.response) {
    case nil: NJ_JSON_NONE
    case .null: NJ_JSON_NULL
    case .bool: NJ_JSON_BOOLEAN
    case .integer, .unsigned: NJ_JSON_INTEGER
    case .number: NJ_JSON_NUMBER
    case .string: NJ_JSON_STRING
    case .array: NJ_JSON_ARRAY
    case .object: NJ_JSON_OBJECT
    }
}

@_cdecl("nj_response_json_bool") @implementation
public func nj_response_json_bool(
    _ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?, _ out: UnsafeMutablePointer<Bool>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    read(response, pointer, out, outError)
}

@_cdecl("nj_response_json_int64") @implementation
public func nj_response_json_int64(
    _ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?, _ out: UnsafeMutablePointer<Int64>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    read(response, pointer, out, outError)
}

@_cdecl("nj_response_json_uint64") @implementation
public func nj_response_json_uint64(
    _ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?, _ out: UnsafeMutablePointer<UInt64>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    read(response, pointer, out, outError)
}

@_cdecl("nj_response_json_double") @implementation
public func nj_response_json_double(
    _ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?, _ out: UnsafeMutablePointer<Double>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    read(response, pointer, out, outError)
}

@_cdecl("nj_response_json_string") @implementation
public func nj_response_json_string(
    _ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?,
    _ out: UnsafeMutablePointer<UnsafePointer<CChar>?>?, _ outLength: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<ResponseBox>.borrow(response), "response")
        let out = try required(out, "out")
        let text = try box.texts.json.string(at: pointer, of: box.response)
        out.pointee = text.pointer
        outLength?.pointee = text.length
    }
}

@_cdecl("nj_response_json_text") @implementation
public func nj_response_json_text(
    _ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?,
    _ out: UnsafeMutablePointer<UnsafePointer<CChar>?>?, _ outLength: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<ResponseBox>.borrow(response), "response")
        let out = try required(out, "out")
        let text = try box.texts.json.part(at: pointer, of: box.response)
        out.pointee = text.pointer
        outLength?.pointee = text.length
    }
}

@_cdecl("nj_response_json_count") @implementation
public func nj_response_json_count(
    _ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?, _ out: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<ResponseBox>.borrow(response), "response")
        let out = try required(out, "out")
        switch try box.texts.json.decode(JSONValue.self, at: pointer, of: box.response) {
        case .array(let elements): out.pointee = elements.count
        case .object(let members): out.pointee = members.count
        case let value:
            let place = try JSONPointer(required(text(pointer), "pointer"))
            let mismatch = JSONMismatch(path: place, expected: "an array or an object", found: value.typeName)
            throw mismatch.error.about(box.response)
        }
    }
}

@_cdecl("nj_response_json_key_at") @implementation
public func nj_response_json_key_at(
    _ response: OpaquePointer?, _ pointer: UnsafePointer<CChar>?, _ index: Int, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    let text = Handle<ResponseBox>.borrow(response).flatMap { box in
        box.texts.json.name(at: index, in: pointer, of: box.response)
    }
    return lend(text, outLength)
}

@_cdecl("nj_request_set_schema") @implementation
public func nj_request_set_schema(
    _ request: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<RequestBox>.borrow(request), "request")
        box.request.schema = json == nil && length == 0 ? nil : try JSONSchema(parsing: document(json, length))
    }
}
