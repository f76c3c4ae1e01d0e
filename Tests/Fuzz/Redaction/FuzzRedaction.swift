import NIOCore
import NightjarHTTP
import NightjarTesting

/// Fuzzes redaction. Puts a random secret into a place that holds secrets and surrounds it with input. Aborts if one of
/// these invariants is violated:
///
/// - The secret does not appear in a log message, URL, archive entry, curl command or cassette.
/// - The secret does not appear in a request that a redirect sends to another origin.
/// - Nothing traps, hangs or grows without bound.
///
/// The first byte selects the place, the second the name, and the next eight are the secret. The rest surrounds it.
func fuzzRedaction(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 10 else { return 0 }
    let input = UnsafeRawBufferPointer(start: start, count: count)
    let letters = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)
    // The marker makes the secret unique: the surrounding input cannot equal it by chance.
    let secret = "zQ7" + String(decoding: input[2..<10].map { letters[Int($0 & 31)] }, as: UTF8.self) + "7Qz"
    let rest = Array(input[10...])
    let text = String(decoding: rest, as: UTF8.self)
    // Input that contains part of the secret would cause false positives.
    guard !text.contains("zQ7") else { return 0 }
    let name = names[Int(input[1]) % names.count]
    show(secret, name, place: Int(input[0]), text)
    anything(rest)
    return 0
}

private let names = [
    "password", "api_key", "X-JWT", "sessionKey", "user_token_v2", "otp", "sig", "passwordConfirmation",
    "client_secret",
    "access_token", "pw", "jwt", "Private-Key", "db.password", "user[password]",
]

/// Passes any input to the redaction, which must return.
private func anything(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    _ = Masking.text(text)
    for type in [
        "multipart/form-data; boundary=b", "text/xml", "application/json", "application/x-www-form-urlencoded", "",
    ] {
        _ = exchange(ByteBuffer(bytes: bytes), type: type)
    }
}

private func show(_ secret: String, _ name: String, place: Int, _ text: String) {
    // Parts of the text that do not terminate the construct around the secret.
    let line = text.filter { $0.isLetter || $0.isNumber || " .,:-_".contains($0) }
    let word = line.filter { $0.isLetter || $0.isNumber }
    let escaped = name.unicodeScalars.map { "\\u00" + (($0.value < 16 ? "0" : "") + String($0.value, radix: 16)) }
        .joined()
    switch place % 10 {
    case 0: message("\(line) http://h\(word)/p?a=\(word)&\(name)=\(secret)&b=1 \(line)", secret)
    case 1: message("\(line) WSS://u:\(secret)@h\(word)/ \(line)", secret)
    case 2: message("\(line) {\"a\":\"\(line)\",\"\(name)\": \"\(secret)\"} \(line)", secret)
    case 3: message("\(line) \(name)=\(secret) \(line)", secret)
    case 4:
        body(
            "{\"a\":\"\(line)\",\"\(escaped)\":[\"\(line)\",\"\(secret)\"]}\n{\"b\":1}",
            ["application/json", "", "text/plain"], secret)
    case 5:
        body(
            "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\(line)\r\n--b\r\nContent-Disposition: form-data; "
                + "filename=\"\(word)\"; name=\"\(name)\"\r\n\r\n\(line)\(secret)\r\n--b--\r\n",
            ["multipart/form-data; boundary=b"], secret)
    case 6:
        body(
            "<a b=\"\(line)\"><c:password d='\(line)'>\(secret)</c:password><entry key=\"\(name)\">\(secret)</entry></a>",
            ["application/soap+xml", ""], secret)
    case 7: body("a=\(word)&\(name)=\(secret)&b=\(word)", ["application/x-www-form-urlencoded", ""], secret)
    case 8: request(name, secret, line)
    default: message("\(line) Authorization: Bearer \(secret)", secret)
    }
}

private func message(_ text: String, _ secret: String) { hides(Masking.text(text), secret, text) }

private func body(_ text: String, _ types: [String], _ secret: String) {
    for type in types {
        for shown in exchange(ByteBuffer(string: text), type: type) { hides(shown, secret, text) }
    }
}

private func request(_ name: String, _ secret: String, _ text: String) {
    var request = Request(.get, "http://u:\(secret)@h/p?\(name.filter { $0 != "[" && $0 != "]" })=\(secret)")
    let field = name.filter { $0 != "[" && $0 != "]" }
    try? request.headers.add(field, secret)
    try? request.headers.add("X-Note", text)
    try? request.headers.add("Referer", "http://h/?\(name)=\(secret)")
    guard let prepared = try? PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil) else { return }
    for shown in shown(RequestRecord(prepared)) { hides(shown, secret, name) }
    var headers = Headers()
    try? headers.add("Location", "http://other/")
    var policy = RedirectPolicy(RedirectSettings())
    let verdict = policy.received(
        ResponseHead(status: 302, headers: headers), to: .get, at: prepared.url, bodyIsReplayable: true)
    guard case .follow(let proposed) = verdict, let next = try? prepared.following(proposed) else { return }
    hides(String(buffer: next.wireHead), secret, "a redirect with \(name)")
}

/// The archive entry, curl command and cassette of an exchange with this body.
private func exchange(_ body: ByteBuffer, type: String) -> [String] {
    var request = Request(.post, "http://h/")
    if !type.isEmpty { try? request.headers.add("Content-Type", type) }
    request.body = .bytes(body)
    guard let prepared = try? PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil) else {
        return []
    }
    var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
    let recorded = RecordedExchange(
        .init(method: .post, url: "http://h/", headers: prepared.fields, body: RecordedBody(body)), nil)
    let cassette = (try? Cassette([scrubber.scrub(recorded)]).encoded()).map { String(buffer: $0) }
    return shown(RequestRecord(prepared)) + [cassette ?? ""]
}

private func shown(_ record: RequestRecord) -> [String] {
    var writer = HARWriter()
    let entry = HAREntry(started: 0, request: record, response: nil, total: .seconds(1))
    return [CurlCommand(record).text, String(buffer: writer.entry(entry)), record.url.redacted, "\(record.headers)"]
}

private func hides(_ shown: String, _ secret: String, _ text: String) {
    if shown.contains(secret) { fatalError("a secret of \(text) is shown: \(shown)") }
}
