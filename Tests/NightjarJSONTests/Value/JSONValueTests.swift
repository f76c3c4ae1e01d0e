import Glibc
import NightjarJSON
import NightjarTestSupport
import Testing

@Suite struct JSONValueTests {
    @Test func everyTypeIsRead() throws {
        let value = try JSONValue(
            parsing: #" {"a":[null,true,false,-1,18446744073709551615,1.5,"x\u0000\ud83d\ude00"],"b":{},"b":[]} "#)
        #expect(
            value
                == .object([
                    .init(
                        "a",
                        .array([
                            .null, .bool(true), .bool(false), .integer(-1), .unsigned(.max), .number(1.5),
                            .string("x\0\u{1F600}"),
                        ])),
                    .init("b", .object([])), .init("b", .array([])),
                ]))
        #expect(value["b"] == .object([]))
        #expect(value["c"] == nil)
    }

    /// The memory of the text is reserved but never read.
    @Test func textOf4GiBIsTooLarge() throws {
        let size = 1 << 32
        let memory = mmap(nil, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        try #require(memory != MAP_FAILED)
        defer { munmap(memory, size) }
        let text = UnsafeRawBufferPointer(start: memory, count: size)
        for parse in [{ _ = try JSONValue(parsing: text) }, { _ = try JSONSchema(parsing: text) }] {
            let error = #expect(throws: NightjarError.self) { try parse() }
            #expect(error?.kind == .tooLarge)
            #expect(error?.message == "a JSON text must be smaller than 4 GiB, got 4294967296 bytes")
        }
    }

    @Test func integersBeyond64BitsBecomeNumbers() throws {
        #expect(
            try JSONValue(parsing: "[18446744073709551616,-9223372036854775809,1]")
                == .array([.number(18446744073709551616), .number(-9223372036854775808), .integer(1)]))
    }

    /// A host may call the library on a thread with a small stack. Few threads have less than 256 KiB.
    @Test func depthUsesLittleStack() throws {
        let arrays = String(repeating: "[", count: 1023) + "1" + String(repeating: "]", count: 1023)
        let objects = String(repeating: "{\"a\":", count: 1023) + "1" + String(repeating: "}", count: 1023)
        for text in [arrays, objects] {
            try onThread(stack: 256 * 1024) { _ = try JSONValue(parsing: text) }
        }
    }

    @Test func depthIsBounded() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        }
        _ = try JSONValue(parsing: nested(1024))
        _ = try JSONValue(parsing: nested(1024).replacing("[]", with: "[1]"))
        let error = #expect(throws: NightjarError.self) { try JSONValue(parsing: nested(1025)) }
        #expect(
            error?.message
                == "not JSON: arrays and objects nested more than 1024 levels deep at line 1 column 1025")
    }
}
