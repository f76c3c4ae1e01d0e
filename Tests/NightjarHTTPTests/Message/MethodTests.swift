import Testing

@testable import NightjarHTTP

@Suite struct MethodTests {
    @Test(arguments: ["", "GE T", "GET\r\n", "GÉT", "G:", "\0", String(repeating: "X", count: 65)])
    func invalidTokenIsNotAMethod(_ name: String) {
        #expect(Method(name) == nil)
    }

    @Test func methodsAreCaseSensitive() {
        #expect(Method("GET") == .get)
        #expect(Method("get") != .get)
        #expect(Method("M-SEARCH")?.isSafe == false)
    }
}
