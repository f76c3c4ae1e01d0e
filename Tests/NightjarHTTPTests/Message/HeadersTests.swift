import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct HeadersTests {
    @Test func orderCaseAndRepetitionArePreserved() throws {
        var headers = Headers()
        try headers.add("Set-Cookie", "a=1")
        try headers.add("X-Empty", "")
        try headers.add("set-cookie", "b=2")
        #expect(headers.map { "\($0.name): \($0.value)" } == ["Set-Cookie: a=1", "X-Empty: ", "set-cookie: b=2"])
        #expect(headers.values("SET-COOKIE") == ["a=1", "b=2"])
        #expect(headers["set-Cookie"] == "a=1")
        #expect(headers["absent"] == nil)
        #expect(headers.byteCount == "Set-Cookiea=1X-Emptyset-cookieb=2".utf8.count)
    }

    @Test func setReplacesAllFields() throws {
        var headers = Headers()
        try headers.add("A", "1")
        try headers.add("B", "2")
        try headers.add("a", "3")
        try headers.set("A", "4")
        #expect(headers.map { "\($0.name): \($0.value)" } == ["B: 2", "A: 4"])
        headers.remove("b")
        headers.remove("never there")
        #expect(headers.count == 1)
    }

    @Test func copiesAreIndependent() throws {
        var original = Headers()
        try original.add("A", "1")
        var copy = original
        try copy.add("B", "2")
        try original.add("C", "3")
        #expect(copy.map(\.name) == ["A", "B"])
        #expect(original.map(\.name) == ["A", "C"])
    }

    @Test func equalityIgnoresOnlyTheCaseOfNames() throws {
        func headers(_ name: String, _ value: String) throws -> Headers {
            var headers = Headers()
            try headers.add(name, value)
            return headers
        }
        #expect(try headers("A", "x") == headers("a", "x"))
        #expect(try headers("A", "x") != headers("A", "X"))
        #expect(try headers("A", "x") != headers("A", "xy"))
        #expect(try headers("A", "x") != Headers())
    }

    @Test(arguments: [
        ("", "x"), ("a b", "x"), ("a:", "x"), ("ä", "x"), ("a\0", "x"), ("A", "x\r\ny"), ("A", "x\ny"), ("A", "\0"),
        ("A", "\u{7F}"), ("A", "\u{1B}"),
    ])
    func invalidFieldsAreRejected(_ name: String, _ value: String) {
        var headers = Headers()
        #expect(throws: NightjarError.self) { try headers.add(name, value) }
        #expect(throws: NightjarError.self) { try headers.set(name, value) }
        #expect(headers.isEmpty)
    }

    @Test func sizeIsBounded() throws {
        var headers = Headers()
        let large = String(repeating: "x", count: 1 << 20)
        let error = #expect(throws: NightjarError.self) {
            for _ in 0..<32 { try headers.add("A", large) }
        }
        #expect(error?.kind == .invalidRequest)
        #expect(headers.byteCount < Headers.maximumBytes)
    }

    @Test func subscriptReplacesAllFieldsOfTheName() throws {
        var headers: Headers = ["A": "1", "B": "2", "a": "3"]
        #expect(headers.values("a") == ["1", "3"])
        headers["A"] = "4"
        #expect(headers.map { "\($0.name): \($0.value)" } == ["B: 2", "A: 4"])
        headers["b"] = nil
        headers["C"] = nil
        #expect(headers.count == 1 && headers["A"] == "4")
        try headers.checkLiterals()
    }

    /// An assignment cannot throw: the first error is thrown when the headers are used.
    @Test func invalidAssignmentsFailTheRequest() throws {
        var headers: Headers = ["A": "1"]
        headers["A"] = "x\r\ny"
        headers["b c"] = "2"
        headers["D"] = "3"
        headers["D"] = nil
        #expect(headers.map(\.name) == ["A"] && headers["A"] == "1")
        #expect(headers != ["A": "1"])
        let expected = #"the value of header "A" contains a control character such as CR, LF or NUL; remove it"#
        let template = try RequestTemplate(base: RequestURL("http://h/"), defaults: Headers(), userAgent: nil)
        var request = Request(.get, "/a")
        request.headers = headers
        #expect(request.fingerprint == nil)
        let prepared = #expect(throws: NightjarError.self) { try PreparedRequest(request, template) }
        #expect(prepared?.kind == .invalidRequest && prepared?.message == expected)
        let byDefault = #expect(throws: NightjarError.self) {
            try RequestTemplate(base: RequestURL("http://h/"), defaults: headers, userAgent: nil)
        }
        #expect(byDefault?.message == expected)
        let literal = #expect(throws: NightjarError.self) { try (["": "x"] as Headers).checkLiterals() }
        #expect(literal?.kind == .invalidRequest)
    }

    @Test func borrowedBytesAreNULTerminated() throws {
        var headers = Headers()
        try headers.add("Name", "value")
        headers.withBytes(at: 0) { name, value in
            #expect(String(decoding: name, as: UTF8.self) == "Name")
            #expect(name.baseAddress?.load(fromByteOffset: 4, as: UInt8.self) == 0)
            #expect(value.baseAddress?.load(fromByteOffset: 5, as: UInt8.self) == 0)
        }
    }
}
