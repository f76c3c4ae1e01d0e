import NIOCore
import Testing

@testable import NightjarHTTP

/// The records of a body that arrives in parts, and the error that ended it.
private func read(
    _ parts: [[UInt8]], _ format: RecordFormat, maximumLength: Int = 100
) -> (records: [String], error: NightjarError?) {
    var decoder = RecordDecoder(format, maximumLength: maximumLength)
    var records: [String] = []
    do throws(NightjarError) {
        for part in parts {
            decoder.append(ByteBuffer(bytes: part))
            while let record = try decoder.next() { records.append(String(buffer: record)) }
        }
        if let last = try decoder.finish() { records.append(String(buffer: last)) }
        return (records, nil)
    } catch {
        return (records, error)
    }
}

/// Checks a body whole, byte by byte, and divided at each position.
private func expect(
    _ body: String, _ format: RecordFormat, _ records: [String], location: SourceLocation = #_sourceLocation
) {
    let bytes = Array(body.utf8)
    var divisions = [[bytes], bytes.map { [$0] }]
    for position in bytes.indices { divisions.append([Array(bytes[..<position]), Array(bytes[position...])]) }
    for parts in divisions {
        let result = read(parts, format)
        #expect(result.records == records, "\(parts)", sourceLocation: location)
        #expect(result.error == nil, sourceLocation: location)
    }
}

@Suite struct RecordDecoderTests {
    @Test(arguments: [
        ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r", ["a"]), ("a\r\n", ["a"]), ("\n", [""]), ("\r\n\r\n", ["", ""]),
        ("\n\r", ["", ""]), ("\r\n\n", ["", ""]), ("a\nb\r\nc\rd", ["a", "b", "c", "d"]), ("a\r\rb", ["a", "", "b"]),
        ("é\n字\n", ["é", "字"]), ("\u{FEFF}a\n", ["\u{FEFF}a"]), ("a\0b\n", ["a\0b"]),
    ])
    func linesEndWithAnyLineEnd(_ body: String, _ lines: [String]) { expect(body, .lines, lines) }

    @Test(arguments: [
        ("", []), ("1\n", ["1"]), ("1", ["1"]), ("{\"a\":\r1}\r\n2\n", ["{\"a\":\r1}\r", "2"]),
        ("\n \t\n1\n\r\n", ["1"]),
    ])
    func jsonLinesEndWithLFAndMayBeBlank(_ body: String, _ values: [String]) { expect(body, .jsonLines, values) }

    @Test(arguments: [
        ("", []), ("\u{1E}1\n", ["1\n"]), ("\u{1E}{\"a\":\n1}\u{1E}\u{1E}\n\u{1E}[2]", ["{\"a\":\n1}", "[2]"]),
    ])
    func valuesOfASequenceFollowSeparators(_ body: String, _ values: [String]) { expect(body, .jsonSequence, values) }

    @Test(arguments: [
        ("1\n", "the response is not a JSON sequence: it does not begin with a record separator (0x1E)"),
        ("\u{1E}1", "value 1 of the response is incomplete: a number or literal has no line feed after it"),
        (
            "\u{1E}2\n\u{1E}tru\u{1E}",
            "value 2 of the response is incomplete: a number or literal has no line feed after it"
        ),
    ])
    func invalidSequenceFails(_ body: String, _ message: String) {
        let error = read([Array(body.utf8)], .jsonSequence).error
        #expect(error?.kind == .decoding)
        #expect(error?.message == message)
    }

    @Test func lineThatIsTooLongFailsBeforeItsEnd() {
        for parts in [[[UInt8](repeating: 65, count: 101)], Array(repeating: [65], count: 101)] {
            let result = read([[66, 10]] + parts, .lines)
            #expect(result.records == ["B"])
            #expect(result.error?.kind == .tooLarge)
            #expect(
                result.error?.message
                    == "line 2 of the response is longer than 100 bytes; set a larger max_line, or read the body in parts"
            )
        }
        #expect(read([[UInt8](repeating: 65, count: 100)], .lines).error == nil)
    }

    @Test func invalidUTF8IsAnErrorOfTheLine() {
        for invalid in [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]] {
            let result = read([[65, 10] + invalid + [10, 66, 10]], .lines)
            #expect(result.records == ["A"])
            #expect(
                result.error?.message == "line 2 of the response is not valid UTF-8; read the body in parts instead")
            #expect(read([invalid + [10]], .uncheckedLines).error == nil)
        }
    }

    @Test(arguments: [
        (nil, RecordFormat.jsonLines), ("application/x-ndjson", .jsonLines), ("application/json-seq", .jsonSequence),
        ("application/geo+json-seq; charset=utf-8", .jsonSequence), ("text/plain", .jsonLines),
    ])
    func contentTypeDecidesTheFormat(_ type: String?, _ format: RecordFormat) {
        #expect(RecordFormat.json(contentType: type) == format)
    }
}
