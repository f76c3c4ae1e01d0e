import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct MultipartFormTests {
    // MARK: Bytes

    @Test func formHasTheExpectedBytes() throws {
        var random = SeededRandom(seed: 7578)
        var json = MultipartForm.Part("meta", "{}")
        json.contentType = "application/json"
        try json.headers.add("Content-ID", "<meta>")
        let form = try MultipartForm(
            [
                .init("title", "Hello\nW\u{F6}rld"), json, .init("avatar", .file(path: "/home/me/cat.PNG", length: 5)),
                .init("empty", ""),
            ], using: &random)
        let expected = """
            --B
            Content-Disposition: form-data; name="title"

            Hello
            W\u{F6}rld
            --B
            Content-Disposition: form-data; name="meta"
            Content-Type: application/json
            Content-ID: <meta>

            {}
            --B
            Content-Disposition: form-data; name="avatar"; filename="cat.PNG"
            Content-Type: image/png

            </home/me/cat.PNG 0..<5>
            --B
            Content-Disposition: form-data; name="empty"


            --B--

            """
        let body = try text(form).replacing("\r\n", with: "\n").replacing(form.boundary, with: "B")
        #expect(body == expected)
        #expect(form.contentType == "multipart/form-data; boundary=" + form.boundary)
    }

    @Test func formWithoutPartsIsOnlyADelimiter() throws {
        var random = SeededRandom(seed: 1)
        let form = try MultipartForm([], using: &random)
        #expect(try text(form) == "--\(form.boundary)--\r\n")
        #expect(form.length == form.boundary.utf8.count + 6)
    }

    /// Names are escaped as in Chrome, Firefox and Safari.
    @Test(arguments: [
        ("plain.txt", "plain.txt"), ("say \"hi\".txt", "say %22hi%22.txt"), ("a\r\nb", "a%0D%0Ab"),
        ("back\\slash", "back\\slash"), ("percent%22", "percent%22"),
        ("\u{65E5}\u{672C} \u{1F319}", "\u{65E5}\u{672C} \u{1F319}"),
        ("tab\t;=", "tab\t;="), ("/", "/"), ("", ""),
    ])
    func namesAreEscaped(_ name: String, _ written: String) throws {
        var random = SeededRandom(seed: 2)
        var part = MultipartForm.Part("n" + name, "x")
        part.filename = name
        let form = try MultipartForm([part], using: &random)
        #expect(
            try text(form).contains("Content-Disposition: form-data; name=\"n\(written)\"; filename=\"\(written)\"\r\n")
        )
    }

    @Test(arguments: [
        ("cat.jpeg", "image/jpeg"), ("CAT.JPG", "image/jpeg"), ("/a.png/b.tar.gz", "application/gzip"),
        ("data.json", "application/json"), ("notes.txt", "text/plain"), ("a.7z", "application/x-7z-compressed"),
        ("noending", "application/octet-stream"), (".json", "application/octet-stream"),
        ("/x/.json", "application/octet-stream"), ("a.", "application/octet-stream"), ("", "application/octet-stream"),
        ("a.unheard-of", "application/octet-stream"), ("a.geojson", "application/geo+json"),
        ("a.geojsonx", "application/octet-stream"), ("caf\u{E9}.\u{E9}", "application/octet-stream"),
    ])
    func fileExtensionDeterminesTheType(_ name: String, _ type: String) {
        #expect(FileType.contentType(of: name) == type)
    }

    @Test func fileNameIsTheLastPathComponent() {
        #expect(MultipartForm.Part("f", .file(path: "/etc/ssl/key.pem", length: nil)).filename == "key.pem")
        #expect(MultipartForm.Part("f", .file(path: "cat.png", length: nil)).filename == "cat.png")
        #expect(MultipartForm.Part("f", .bytes(ByteBuffer())).filename == nil)
    }

    // MARK: Invalid forms

    private static func part(_ change: (inout MultipartForm.Part) throws -> Void) rethrows -> MultipartForm.Part {
        var part = MultipartForm.Part("a", "x")
        try change(&part)
        return part
    }

    @Test func invalidNamesAreRejected() throws {
        let cases: [(MultipartForm.Part, String)] = [
            (.init("", "x"), "part 2 of the form, \"\": it has no name; set one"),
            (
                .init("a\0", "x"),
                "part 2 of the form, \"a\\x0\": its name contains the control character 0x0; remove it"
            ),
            (
                MultipartFormTests.part { $0.filename = "\u{1B}" },
                "part 2 of the form, \"a\": its file name contains the control character 0x1b; remove it"
            ),
            (
                MultipartFormTests.part { $0.contentType = "text/plain\r\nX: y" },
                "part 2 of the form, \"a\": its content type \"text/plain\\r\\nX: y\" is invalid; use a media type such as text/plain"
            ),
            (
                MultipartFormTests.part { $0.contentType = "" },
                "part 2 of the form, \"a\": its content type \"\" is invalid; use a media type such as text/plain"
            ),
            (
                try MultipartFormTests.part { try $0.headers.add("content-DISPOSITION", "inline") },
                "part 2 of the form, \"a\": header \"content-DISPOSITION\" cannot be set: "
                    + "it is derived from the name and the file name"
            ),
            (
                try MultipartFormTests.part { try $0.headers.add("Content-Transfer-Encoding", "base64") },
                "part 2 of the form, \"a\": header \"Content-Transfer-Encoding\" cannot be set: "
                    + "parts of forms no longer use it (RFC 7578 section 4.7)"
            ),
            (
                .init("a", .file(path: "/x", length: -1)),
                "the length of the file \"/x\" must not be negative, got -1"
            ),
        ]
        var random = SeededRandom(seed: 3)
        for (part, message) in cases {
            let error = #expect(throws: NightjarError.self) {
                try MultipartForm([.init("first", ""), part], using: &random)
            }
            #expect(error?.kind == .invalidRequest)
            #expect(error?.message == message)
        }
    }

    @Test func overflowingLengthsAreRejected() throws {
        var random = SeededRandom(seed: 4)
        let half = MultipartForm.Part("f", .file(path: "/x", length: Int.max / 2))
        let error = #expect(throws: NightjarError.self) {
            try MultipartForm([half, half, half], using: &random)
        }
        #expect(error?.message == "the total length of the form exceeds 9223372036854775807 bytes")
        // A part of unknown length makes the total length unknown, so the length cannot overflow.
        let open = MultipartForm.Part("f", .file(path: "/x", length: nil))
        #expect(try MultipartForm([open, half, half, half], using: &random).length == nil)
    }

    // MARK: The boundary

    /// Returns `values` in order, then repeats the last one.
    private struct StuckRandom: RandomNumberGenerator {
        var values: [UInt64]
        mutating func next() -> UInt64 { values.count > 1 ? values.removeFirst() : values[0] }
    }

    @Test func boundaryInsideAPartIsNotUsed() throws {
        var first = SeededRandom(seed: 5)
        let boundary = try MultipartForm([], using: &first).boundary
        #expect(boundary.utf8.count == 32)
        let inside: [MultipartForm.Part] = [
            .init("text", "x" + boundary), .init("text", boundary + "x"), .init("n" + boundary, "x"),
            .init("large", String(repeating: "-", count: 100_000) + boundary),
        ]
        for part in inside {
            var again = SeededRandom(seed: 5)
            #expect(try MultipartForm([part], using: &again).boundary != boundary)
        }
        for cut in [boundary.dropFirst(), boundary.dropLast()] {
            var again = SeededRandom(seed: 5)
            #expect(try MultipartForm([.init("text", "\r\n--" + cut)], using: &again).boundary == boundary)
        }
    }

    @Test func constantRandomSourceIsAnError() {
        var stuck = StuckRandom(values: [0])
        let error = #expect(throws: NightjarError.self) {
            try MultipartForm([.init("a", String(repeating: "0", count: 40))], using: &stuck)
        }
        #expect(
            error?.message
                == "every boundary that was tried occurs in a part of the form; the random generator appears to be broken"
        )
    }

    // MARK: Bodies in pieces

    @Test func eachPieceSizeProducesTheSameBytes() throws {
        var random = SeededRandom(seed: 6)
        let form = try MultipartForm(
            [
                .init("a", "text"), .init("f", .file(path: "/1", length: 7)),
                .init("none", .file(path: "/2", length: 0)),
                .init("b", String(repeating: "large", count: 10_000)), .init("f", .file(path: "/3", length: 3)),
            ], using: &random)
        let whole = try bytes(form, maximum: .max)
        #expect(whole.count == form.length)
        for maximum in [1, 2, 3, 5, 64, 1000, 16 * 1024, 16 * 1024 + 1, 1 << 20] {
            #expect(try bytes(form, maximum: maximum) == whole, "maximum \(maximum)")
        }
        #expect(try bytes(form, maximum: 0) == whole)
        #expect(try bytes(form, maximum: -1) == whole)
    }

    @Test func endOfTheFormIsStable() throws {
        var random = SeededRandom(seed: 7)
        var body = try MultipartForm([], using: &random).makeBody()
        _ = try body.next(maximum: .max)
        #expect(try body.next(maximum: 1) == .end)
        #expect(try body.next(maximum: 1) == .end)
    }

    @Test func fileOfUnknownLengthEndsAtItsEnd() throws {
        var random = SeededRandom(seed: 8)
        let form = try MultipartForm([.init("f", .file(path: "/f", length: nil))], using: &random)
        #expect(form.length == nil)
        var body = form.makeBody()
        _ = try body.next(maximum: .max)
        #expect(try body.next(maximum: 10) == .file(path: "/f", range: 0..<10))
        #expect(try body.next(maximum: 10) == .file(path: "/f", range: 10..<20))
        #expect(try body.next(maximum: .max) == .file(path: "/f", range: 20..<Int.max))
        try body.fileEnded(at: 25)
        #expect(try body.next(maximum: .max) == .bytes(ByteBuffer(string: "\r\n--\(form.boundary)--\r\n")))
        #expect(try body.next(maximum: .max) == .end)
        try body.fileEnded(at: 0)
        #expect(try body.next(maximum: .max) == .end)
    }

    @Test func truncatedFileIsAPermanentError() throws {
        var random = SeededRandom(seed: 9)
        var body = try MultipartForm([.init("f", .file(path: "/f", length: 20))], using: &random).makeBody()
        _ = try body.next(maximum: .max)
        #expect(try body.next(maximum: 10) == .file(path: "/f", range: 0..<10))
        let error = #expect(throws: NightjarError.self) { try body.fileEnded(at: 4) }
        #expect(
            error?.message == "the file \"/f\" has only 4 of 20 bytes; it is shorter than declared, or was truncated "
                + "while it was sent")
        #expect(error?.phase == .send)
        #expect(throws: NightjarError.self) { try body.next(maximum: 10) }
    }

    @Test func grownFileIsSentWithItsInitialLength() throws {
        var random = SeededRandom(seed: 10)
        var body = try MultipartForm([.init("f", .file(path: "/f", length: 5))], using: &random).makeBody()
        _ = try body.next(maximum: .max)
        #expect(try body.next(maximum: 10) == .file(path: "/f", range: 0..<5))
        try body.fileEnded(at: 5)
        guard case .bytes = try body.next(maximum: .max) else {
            Issue.record("expected the boundary after the file")
            return
        }
        #expect(try body.next(maximum: .max) == .end)
    }

    @Test func formRoundTrips() throws {
        var random = SeededRandom(seed: 11)
        for _ in 0..<200 {
            let contents = (0..<Int.random(in: 0...5, using: &random)).map { _ in
                random.bytes(Int.random(in: 0...3, using: &random) * Int.random(in: 0...9000, using: &random))
            }
            let parts = contents.enumerated().map { MultipartForm.Part("n\($0)", .bytes(ByteBuffer(bytes: $1))) }
            let form = try MultipartForm(parts, using: &random)
            let body = try bytes(form, maximum: Int.random(in: 100...20_000, using: &random))
            #expect(body.count == form.length)
            #expect(read(body, boundary: form.boundary) == contents)
        }
    }

    // MARK: Parsing the result

    /// Returns the concatenated pieces, with a placeholder for each file.
    private func text(_ form: MultipartForm) throws -> String {
        var result = ""
        var body = form.makeBody()
        while true {
            switch try body.next(maximum: .max) {
            case .bytes(let bytes): result += String(buffer: bytes)
            case .file(let path, let range): result += "<\(path) \(range)>"
            case .end: return result
            }
        }
    }

    /// Returns the concatenated pieces. Each byte of a file is its offset modulo 256.
    private func bytes(_ form: MultipartForm, maximum: Int) throws -> [UInt8] {
        var result: [UInt8] = []
        var body = form.makeBody()
        while true {
            switch try body.next(maximum: maximum) {
            case .bytes(let bytes):
                #expect(bytes.readableBytes > 0 && bytes.readableBytes <= max(maximum, 1))
                result += Array(buffer: bytes)
            case .file(_, let range):
                #expect(range.count > 0 && range.count <= max(maximum, 1))
                result += range.map { UInt8(truncatingIfNeeded: $0) }
            case .end: return result
            }
        }
    }

    /// Returns the contents of the parts, parsed by the rules of RFC 2046 section 5.1.1; nil if the body is invalid.
    private func read(_ body: [UInt8], boundary: String) -> [[UInt8]]? {
        let delimiter = Array("\r\n--\(boundary)".utf8)
        var rest = Array("\r\n".utf8) + body
        var parts: [[UInt8]] = []
        guard rest.starts(with: delimiter) else { return nil }
        rest.removeFirst(delimiter.count)
        while !rest.elementsEqual("--\r\n".utf8) {
            guard let head = rest.firstRange(of: Array("\r\n\r\n".utf8)),
                let end = rest.firstRange(of: delimiter), head.upperBound <= end.lowerBound
            else { return nil }
            parts.append(Array(rest[head.upperBound..<end.lowerBound]))
            rest.removeFirst(end.upperBound)
        }
        return parts
    }
}
