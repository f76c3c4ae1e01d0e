import NIOCore
import Testing

@testable import NightjarHTTP

/// An event as a text: `type id data`.
private func events(_ parts: [[UInt8]]) throws -> [String] {
    var decoder = EventDecoder(maximumSize: 1000)
    var events: [String] = []
    for part in parts {
        decoder.append(ByteBuffer(bytes: part))
        while let event = try decoder.next() { events.append("\(event.type)|\(event.id)|\(event.data)") }
    }
    return events
}

/// The rules of WHATWG HTML, section 9.2.6. The first two parts of a case are the body and its events.
@Suite struct EventDecoderTests {
    private static let cases: [(rule: String, body: String, events: [String])] = [
        ("data ends at a blank line", "data: a\n\n", ["message||a"]),
        ("lines of data are joined with LF", "data: YHOO\ndata: +2\ndata: 10\n\n", ["message||YHOO\n+2\n10"]),
        ("one space after the colon is removed", "data:a\n\ndata:  b\n\n", ["message||a", "message|| b"]),
        (
            "a line without a colon is a field without a value", "data\n\ndata\ndata\n\ndata:",
            ["message||", "message||\n"]
        ),
        ("a comment is ignored", ": hello\n\n:\ndata: a\n:x\n\n", ["message||a"]),
        ("an unknown field is ignored", "foo: 1\nDATA: x\n data: y\ndata: a\n\n", ["message||a"]),
        ("the event's type is reset", "event: x\ndata: a\n\ndata: b\n\n", ["x||a", "message||b"]),
        ("an event without data is not dispatched", "event: x\n\ndata: b\n\n", ["message||b"]),
        (
            "an id applies to later events", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            ["message|1|a", "message|1|b", "message||c"]
        ),
        ("an id without data applies to later events", "id: 7\n\ndata: a\n\n", ["message|7|a"]),
        ("an id with NUL is ignored", "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", ["message|1|a", "message|1|b"]),
        (
            "an id that cannot be sent is ignored", "id: 1\ndata: a\n\nid: 2\u{1}\ndata: b\n\n",
            ["message|1|a", "message|1|b"]
        ),
        ("a byte order mark is removed", "\u{FEFF}data: a\n\n", ["message||a"]),
        ("only one byte order mark is removed", "\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", ["message||b"]),
        (
            "CR and CRLF end lines", "data: a\r\rdata: b\r\n\r\ndata: c\r\n\n",
            ["message||a", "message||b", "message||c"]
        ),
        ("an unfinished event is discarded", "data: a\n\ndata: b\n", ["message||a"]),
        ("a colon may be part of the value", "data: a:b: c\n\n", ["message||a:b: c"]),
        ("the last type wins", "event: x\nevent: y\ndata: a\n\n", ["y||a"]),
    ]

    @Test(arguments: cases.indices)
    func ruleHoldsForEachDivision(_ index: Int) throws {
        let (rule, body, expected) = EventDecoderTests.cases[index]
        let bytes = Array(body.utf8)
        #expect(try events([bytes]) == expected, "\(rule)")
        #expect(try events(bytes.map { [$0] }) == expected, "\(rule), byte by byte")
        for position in bytes.indices {
            #expect(
                try events([Array(bytes[..<position]), Array(bytes[position...])]) == expected, "\(rule) \(position)")
        }
    }

    @Test func invalidUTF8IsReplaced() throws {
        #expect(try events([Array("data: a".utf8) + [0xFF] + Array("b\n\n".utf8)]) == ["message||a\u{FFFD}b"])
    }

    @Test(arguments: [
        ("retry: 1500\n", Duration.milliseconds(1500)), ("retry: 1500\nretry: 0\n", .zero), ("retry: 1.5\n", nil),
        ("retry: -1\n", nil), ("retry:\n", nil), ("retry: 1a\n", nil), ("retry: ١\n", nil),
        ("retry: 99999999999999999999999\n", .milliseconds(Int64.max)),
    ])
    func retryHasDigitsOnly(_ body: String, _ time: Duration?) throws {
        var decoder = EventDecoder(maximumSize: 1000)
        decoder.append(ByteBuffer(string: body))
        #expect(try decoder.next() == nil)
        #expect(decoder.reconnectionTime == time)
    }

    @Test func cursorMovesOnlyWithACompleteEvent() throws {
        var decoder = EventDecoder(maximumSize: 1000, lastEventID: ByteBuffer(string: "0"))
        decoder.append(ByteBuffer(string: "id: 1\n"))
        #expect(try decoder.next() == nil)
        #expect(String(buffer: decoder.lastEventID) == "0")
        decoder.append(ByteBuffer(string: "\n"))
        #expect(try decoder.next() == nil)
        #expect(String(buffer: decoder.lastEventID) == "1")
    }

    @Test(arguments: [
        "data: \(String(repeating: "x", count: 1001))",
        String(repeating: "data: \(String(repeating: "x", count: 100))\n", count: 11),
    ])
    func eventThatIsTooLargeFails(_ body: String) {
        #expect {
            try events([Array(body.utf8)])
        } throws: {
            ($0 as? NightjarError)?.message
                == "an event of the stream is longer than 1000 bytes; set a larger max_event"
        }
    }
}
