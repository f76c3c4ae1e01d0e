import NIOCore
import NightjarHTTP

/// Fuzzes the redirect policy with Location fields, one per line. Aborts if one of these invariants is violated:
///
/// - No call follows more than ten redirects.
/// - A redirect never leads from https to http.
/// - No credential is sent to another origin.
/// - The target is a URL that parses to itself, and its curl command and archive entry can be written.
/// - Messages contain no password, and their length is bounded.
///
/// The first byte selects the first URL, the method and the statuses of the responses.
func fuzzRedirect(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 1, let first = begin(start[0]) else { return 0 }
    let input = UnsafeRawBufferPointer(start: start, count: count)
    // If the input contains this text, a message may contain it, too.
    guard !String(decoding: input, as: UTF8.self).contains("s3cret") else { return 0 }
    var request = first
    var policy = RedirectPolicy(RedirectSettings(), fragment: "f")
    var redirects = 0
    for line in input.dropFirst().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
        guard let head = head(line, status: [301, 302, 303, 307, 308][(Int(start[0]) + redirects) % 5]) else {
            return 0
        }
        switch policy.received(head, to: request.method, at: request.url, bodyIsReplayable: start[0] & 8 == 0) {
        case .respond: return 0
        case .fail(let error):
            require(error.kind == .protocol || error.kind == .invalidRequest, "an error of kind \(error.kind.name)")
            require(error.message.utf8.count < 8192, "a message that is too long")
            require(!error.message.contains("s3cret"), "a message with a password: \(error.message)")
            return 0
        case .follow(let proposed):
            redirects += 1
            require(redirects <= 10, "more redirects than the limit")
            check(proposed)
            guard let next = try? request.following(proposed, sensitive: ["X-Mine"]) else { return 0 }
            require(
                next.url.origin == first.url.origin || !hasCredentials(next), "a credential was sent to another origin")
            check(next)
            request = next
        }
    }
    return 0
}

private func begin(_ settings: UInt8) -> PreparedRequest? {
    let target = settings & 1 == 0 ? "http://u:s3cret@h:8080/a/b/c?d" : "https://u:s3cret@[::1]/"
    var request = Request(settings & 2 == 0 ? .get : .post, target)
    if settings & 4 != 0 { request.body = .bytes(ByteBuffer(string: "password=s3cret")) }
    for name in ["Authorization", "Cookie", "X-Mine", "X-Api-Key", "Host"] { try? request.headers.add(name, "s3cret") }
    try? request.headers.add("Content-Type", "application/x-www-form-urlencoded")
    return try? PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil)
}

/// Decodes a head whose Location has any bytes that a server can send.
private func head(_ location: Slice<UnsafeRawBufferPointer>, status: Int) -> ResponseHead? {
    var wire = ByteBuffer(string: "HTTP/1.1 \(status) x\r\nLocation: ")
    wire.writeBytes(location)
    wire.writeString("\r\nContent-Length: 0\r\n\r\n")
    var decoder = HTTP1ResponseDecoder()
    decoder.expectResponse(to: .get)
    guard case .head(let head) = try? decoder.next(&wire) else { return nil }
    return head
}

private func check(_ proposed: ProposedRedirect) {
    require(proposed.url.origin.isTLS || !proposed.from.origin.isTLS, "a redirect from https to http")
    require(proposed.url.target.utf8.first == UInt8(ascii: "/"), "a target without a leading slash")
    require(proposed.url.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x23 }, "an invalid target")
    require(proposed.url.target.utf8.count <= 65536, "a target that is too long")
    let again = try? RequestURL(proposed.url.origin.description + proposed.url.target)
    // An empty query is preserved, because a server may distinguish "/?" from "/". Parsing a caller's URL drops it.
    let target = proposed.url.query == "" ? String(proposed.url.target.dropLast()) : proposed.url.target
    require(again?.origin == proposed.url.origin && again?.target == target, "\(proposed.url) is read as another URL")
    require(proposed.method == .get || proposed.method == .post, "an unexpected method")
}

private func hasCredentials(_ request: PreparedRequest) -> Bool {
    request.url.userInfo != nil || String(buffer: request.wireHead).contains("s3cret")
}

private func check(_ request: PreparedRequest) {
    let record = RequestRecord(request)
    let command = CurlCommand(record, sensitive: ["x-mine"]).text
    require(command.unicodeScalars.allSatisfy { $0.value >= 0x20 }, "a command with control characters")
    var writer = HARWriter(sensitive: ["x-mine"])
    let entry = String(
        buffer: writer.entry(HAREntry(started: 0, request: record, response: nil, total: .seconds(1))))
    require((try? JSONValue(parsing: entry)) != nil, "an entry that is not JSON: \(entry)")
    for shown in [command, entry] {
        // The Host that the caller set is not secret, although it contains the same text here.
        let text = shown.replacingHost()
        require(!text.contains("s3cret"), "a secret is shown: \(text)")
    }
}

extension String {
    fileprivate func replacingHost() -> String {
        replacing("Host: s3cret", with: "").replacing("{\"name\":\"Host\",\"value\":\"s3cret\"}", with: "")
    }
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
