import NIOCore
import NightjarAPI
import NightjarHTTP

/// Fuzzes the requests that operations make from arguments. Both the operation and the values come from the input.
/// Aborts if one of these invariants is violated:
///
/// - A request is created, or rejected with an error. The error contains no value of a header field or cookie.
/// - The path has the segments of its template. No value adds or removes a segment or turns one into `.` or `..`.
/// - The host is that of the base URL or of the operation's server.
/// - The request has exactly the header fields that are set. No value adds one.
/// - Each query item with a single value is in the query and decodes to the given value.
///
/// The first two bytes are settings. Three parts follow, separated by NUL: the path template, the parameters, and the
/// arguments as a JSON object, whose member `body` is the body, if any. Each line of the parameters is one parameter: a
/// character for the place, one for the style, and a name, optionally followed by `|` and a schema.
func fuzzEndpoints(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 4 else { return 0 }
    let input = UnsafeBufferPointer(start: start, count: count)
    let parts = input.dropFirst(2).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return 0 }
    var operation = Operation("fuzzed", input[0] & 1 == 0 ? .post : .get, String(decoding: parts[0], as: UTF8.self))
    if input[0] & 2 != 0 { operation.server = "https://other.example/v2/" }
    operation.parameters = parameters(parts[1], reserved: input[0] & 4 != 0)
    operation.content = content(input[1])
    guard let json = try? JSONValue(parsing: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: parts[2]))),
        case .object(let members) = json
    else { return 0 }
    var arguments = Arguments()
    for member in members.prefix(64) {
        if member.name == "body", operation.content != nil {
            arguments.body = .value(member.value)
        } else {
            arguments.values.append((member.name, marked(member, of: operation)))
        }
    }
    do throws(NightjarError) {
        let request = try operation.request(arguments)
        // A path without a leading slash is not joined with a base URL, so it is not checked further.
        guard let base, operation.path.utf8.first == UInt8(ascii: "/") else { return 0 }
        let prepared = try PreparedRequest(request, base: base, defaults: Headers(), userAgent: nil)
        checkPath(prepared.url, operation)
        checkHead(prepared, request)
        checkValues(prepared, operation, arguments)
    } catch {
        require(
            [.invalidRequest, .invalidURL, .invalidArgument].contains(error.kind), "an error of \(error.kind.name)")
        require(
            !error.message.isEmpty && error.message.utf8.count < 4000, "an empty or too long message: \(error.message)")
        require(!error.message.contains(mark), "a secret in a message: \(error.message)")
    }
    return 0
}

private let base = try? RequestURL("https://api.example/v1")
/// Appended to the value of each cookie and header field except Host, which is not secret.
private let mark = "s3cr3tvalue"

private func parameters(_ text: Slice<UnsafeBufferPointer<UInt8>>, reserved: Bool) -> [Parameter] {
    var parameters: [Parameter] = []
    for line in text.split(separator: UInt8(ascii: "\n")).prefix(24) where line.count >= 3 {
        let bytes = Array(line)
        let place = Parameter.Place.allCases[Int(bytes[0]) % 4]
        let rest = bytes[2...].split(separator: UInt8(ascii: "|"), maxSplits: 1, omittingEmptySubsequences: false)
        var parameter = Parameter(String(decoding: rest[0], as: UTF8.self), in: place)
        if rest.count > 1 {
            let schema = Array(rest[1]).withUnsafeBytes { try? JSONValue(parsing: $0) }
            if let schema, let read = try? JSONSchema(schema) { parameter.schema = DeferredSchema(read) }
        }
        let styles = ParameterStyle.allCases
        parameter.style = styles[Int(bytes[1]) % styles.count]
        parameter.explodes = bytes[1] & 8 != 0
        parameter.allowsReserved = reserved && place == .query
        if bytes[1] & 16 != 0 { parameter.mediaType = bytes[1] & 32 == 0 ? "application/json" : "text/plain" }
        parameters.append(parameter)
    }
    return parameters
}

private func content(_ choice: UInt8) -> RequestContent? {
    let types = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/*", "*/*"]
    guard choice & 8 != 0 else { return nil }
    return RequestContent([.init(types[Int(choice & 7) % types.count]), .init("application/json")])
}

private func marked(_ member: JSONValue.Member, of operation: Operation) -> JSONValue {
    let places = operation.parameters.filter { $0.name == member.name }.map(\.place)
    guard case .string(let text) = member.value, places == [.header] || places == [.cookie],
        member.name.lowercased() != "host"
    else { return member.value }
    return .string(text + mark)
}

// MARK: Invariants

/// The segments of a template, separated by slashes outside of braces: the number of literal bytes, and whether there is
/// a parameter.
private func segments(_ template: String) -> [(bytes: Int, hasValue: Bool)] {
    var segments: [(bytes: Int, hasValue: Bool)] = [(0, false)]
    var rest = Array(template.utf8)[...]
    while let byte = rest.popFirst() {
        switch byte {
        case UInt8(ascii: "{") where rest.contains(UInt8(ascii: "}")):
            segments[segments.count - 1].hasValue = true
            rest = rest.drop { $0 != UInt8(ascii: "}") }.dropFirst()
        case UInt8(ascii: "/"): segments.append((0, false))
        case UInt8(ascii: "?"), UInt8(ascii: "#"): return segments
        default: segments[segments.count - 1].bytes += 1
        }
    }
    return segments
}

private func checkPath(_ url: RequestURL, _ operation: Operation) {
    let host = operation.server == nil ? "https://api.example" : "https://other.example"
    require(url.origin.description == host, "a request to \(url.origin)")
    require(
        !url.target.utf8.contains { $0 <= 0x20 || $0 >= 0x7F || $0 == UInt8(ascii: "#") }, "a target: \(url.target)")
    let path = url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
    let template = segments(operation.path).dropFirst()
    require(path.count == template.count, "\(url.path) is another path than \(operation.path)")
    for (segment, described) in zip(path, template) where described.hasValue {
        let plain = decoded(segment)
        require(!segment.isEmpty && plain != "." && plain != "..", "a segment of \(url.path)")
        require(segment.utf8.count >= described.bytes, "a segment of \(url.path)")
    }
}

private func checkHead(_ prepared: PreparedRequest, _ request: Request) {
    let lines = String(buffer: prepared.head).split(separator: "\r\n", omittingEmptySubsequences: false)
    var names = (0..<request.headers.count).map { request.headers.name(at: $0).lowercased() }
    names += ["host", "content-length", "transfer-encoding", "content-type", "expect"]
    if !request.cookies.isEmpty { names.append("cookie") }
    var count = 0
    for line in lines.dropFirst() where !line.isEmpty {
        count += 1
        let name = line.prefix { $0 != ":" }.lowercased()
        require(names.contains(name), "an unexpected field: \(name)")
        require(!line.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }, "a control character in \(name)")
    }
    require(count <= request.headers.count + 6, "\(count) fields of \(request.headers.count)")
}

private func checkValues(_ prepared: PreparedRequest, _ operation: Operation, _ arguments: Arguments) {
    let own = operation.path.utf8.contains(UInt8(ascii: "?"))
    let query = prepared.url.query.map { $0.split(separator: "&", omittingEmptySubsequences: false) } ?? []
    var isPlain = !own && operation.parameters.allSatisfy { $0.schema == nil }
    var given = 0
    for (name, value) in arguments.values where value != .null {
        let named = operation.parameters.filter { $0.name == name }
        guard let parameter = named.first, named.count == 1, parameter.schema == nil, case .string(let text) = value
        else {
            isPlain = false
            continue
        }
        guard parameter.place == .query else { continue }
        given += 1
        guard parameter.style == .form, !parameter.allowsReserved, parameter.mediaType == nil else { continue }
        let found = query.filter { decoded($0.prefix { $0 != "=" }) == name }
        require(!found.isEmpty, "the query item \(name) is not in \(prepared.url.target)")
        require(
            own || found.contains { decoded($0.drop { $0 != "=" }.dropFirst()) == text },
            "another value of \(name): \(prepared.url.target)")
    }
    require(!isPlain || query.count == given, "\(query.count) query items of \(given)")
}

private func decoded(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count >= 2,
            let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
        {
            bytes.append(value)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
