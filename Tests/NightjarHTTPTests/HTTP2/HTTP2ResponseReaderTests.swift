import Testing

@testable import NightjarHTTP

/// Conversations with the reader of one stream. The sections are those of RFC 9113.
@Suite struct HTTP2ResponseReaderTests {
    typealias Field = (String, String)

    private func section(
        _ fields: [Field], ends: Bool = false, in reader: inout HTTP2ResponseReader
    ) throws -> HTTP2ResponseReader.Event {
        var text: [UInt8] = []
        var ranges: [Int32] = []
        for part in fields.flatMap({ [$0.0, $0.1] }) {
            ranges += [Int32(text.count), Int32(part.utf8.count)]
            text += Array(part.utf8) + [0]
        }
        return try text.withUnsafeBytes { text in
            try ranges.withUnsafeBytes { ranges in
                try reader.read(HTTP2FieldSection(text: text, ranges: ranges), endsStream: ends)
            }
        }
    }

    private func reader(_ method: NightjarHTTP.Method = .get) -> HTTP2ResponseReader {
        HTTP2ResponseReader(method: method, limits: HTTP1ResponseDecoder.Limits())
    }

    @Test func responseHasHeadBodyAndTrailers() throws {
        var reader = reader()
        guard case .informational(let hint) = try section([(":status", "103"), ("link", "</a>")], in: &reader),
            case .head(let head) = try section([(":status", "200"), ("content-length", "5")], in: &reader)
        else {
            Issue.record("expected an informational response and a head")
            return
        }
        #expect(hint.status == 103 && hint.headers["Link"] == "</a>")
        #expect(head.status == 200 && head.version == .http2 && head.contentLength == 5)
        try reader.received(2)
        try reader.received(3)
        guard case .end(let trailers) = try section([("grpc-status", "0")], ends: true, in: &reader) else {
            Issue.record("expected trailers")
            return
        }
        #expect(trailers["grpc-status"] == "0")
    }

    private static let malformed: [(String, [Field], String)] = [
        // Section 8.1: the order of the parts.
        ("no status", [("a", "b")], "the response has no status"),
        // Section 8.3: pseudo-header fields.
        ("unknown", [(":status", "200"), (":path", "/")], "the pseudo-header field \":path\" is not allowed"),
        ("twice", [(":status", "200"), (":status", "200")], "\":status\" is repeated or misplaced"),
        ("late", [("a", "b"), (":status", "200")], "\":status\" is repeated or misplaced"),
        ("two digits", [(":status", "20")], "is not a number from 100 to 999"),
        ("letters", [(":status", "2oo")], "is not a number from 100 to 999"),
        ("zero", [(":status", "099")], "is not a number from 100 to 999"),
        ("signed", [(":status", "+20")], "is not a number from 100 to 999"),
        ("switching", [(":status", "101")], "switched protocols (101)"),
        // Section 8.2.1: names and values.
        ("upper case", [(":status", "200"), ("Server", "x")], "contains an upper-case letter"),
        ("space in a name", [(":status", "200"), ("a b", "x")], "the header name \"a b\" is invalid"),
        ("empty name", [(":status", "200"), ("", "x")], "is invalid"),
        ("LF", [(":status", "200"), ("a", "x\ny: z")], "contains a control character"),
        ("NUL", [(":status", "200"), ("a", "x\0")], "contains a control character"),
        ("leading space", [(":status", "200"), ("a", " x")], "begins or ends with white space"),
        ("trailing tab", [(":status", "200"), ("a", "x\t")], "begins or ends with white space"),
        // Section 8.2.2: fields of the connection.
        ("connection", [(":status", "200"), ("connection", "close")], "is not allowed in HTTP/2"),
        ("chunked", [(":status", "200"), ("transfer-encoding", "chunked")], "is not allowed in HTTP/2"),
        ("upgrade", [(":status", "200"), ("upgrade", "h2c")], "is not allowed in HTTP/2"),
        ("keep-alive", [(":status", "200"), ("keep-alive", "timeout=1")], "is not allowed in HTTP/2"),
        // Section 8.1.1: the length.
        ("lengths", [(":status", "200"), ("content-length", "1"), ("content-length", "2")], "different values"),
    ]

    @Test(arguments: malformed)
    func malformedHeadIsRejected(name: String, fields: [(String, String)], message: String) {
        var reader = reader()
        #expect {
            _ = try section(fields, in: &reader)
        } throws: { error in
            guard let error = error as? NightjarError else { return false }
            return error.kind == .protocol && error.message.contains(message)
        }
    }

    @Test func bodyMustMatchItsLength() throws {
        var long = reader()
        _ = try section([(":status", "200"), ("content-length", "3")], in: &long)
        #expect(throws: NightjarError.self) { try long.received(4) }
        var short = reader()
        _ = try section([(":status", "200"), ("content-length", "3")], in: &short)
        try short.received(2)
        #expect(throws: NightjarError.self) { try short.end() }
    }

    @Test(arguments: [(NightjarHTTP.Method.head, "200"), (.get, "204"), (.get, "304")])
    func responseWithoutBodyMayDeclareALength(method: NightjarHTTP.Method, status: String) throws {
        var reader = reader(method)
        _ = try section([(":status", status), ("content-length", "9")], ends: true, in: &reader)
        #expect(throws: NightjarError.self) { try reader.received(1) }
        try reader.end()
    }

    @Test func partsInTheWrongOrderAreRejected() throws {
        var body = reader()
        #expect(throws: NightjarError.self) { try body.received(1) }
        var end = reader()
        #expect(throws: NightjarError.self) { try end.end() }
        var informational = reader()
        #expect(throws: NightjarError.self) { try section([(":status", "103")], ends: true, in: &informational) }
        var twice = reader()
        _ = try section([(":status", "200")], in: &twice)
        #expect(throws: NightjarError.self) { try section([(":status", "200")], in: &twice) }
        var pseudo = reader()
        _ = try section([(":status", "200")], in: &pseudo)
        #expect(throws: NightjarError.self) { try section([(":status", "200")], ends: true, in: &pseudo) }
    }

    @Test func largeSectionsAreRejected() {
        var limits = HTTP1ResponseDecoder.Limits()
        limits.maximumHead = 1000
        limits.maximumFields = 3
        var bytes = HTTP2ResponseReader(method: .get, limits: limits)
        #expect {
            _ = try section([(":status", "200"), ("a", String(repeating: "x", count: 1000))], in: &bytes)
        } throws: {
            ($0 as? NightjarError)?.kind == .tooLarge
        }
        var count = HTTP2ResponseReader(method: .get, limits: limits)
        let fields = [(":status", "200")] + Array(repeating: ("a", "b"), count: 4)
        #expect {
            _ = try section(fields, in: &count)
        } throws: {
            ($0 as? NightjarError)?.kind == .tooLarge
        }
    }

    @Test func endlessInformationalResponsesAreLimited() {
        var limits = HTTP1ResponseDecoder.Limits()
        limits.maximumHead = 1000
        var reader = HTTP2ResponseReader(method: .get, limits: limits)
        #expect {
            for _ in 0..<1000 { _ = try section([(":status", "103"), ("link", "</a>")], in: &reader) }
        } throws: {
            ($0 as? NightjarError)?.kind == .tooLarge
        }
    }
}
