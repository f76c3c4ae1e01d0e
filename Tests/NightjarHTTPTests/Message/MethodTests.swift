import Testing

@testable import NightjarHTTP

@Suite struct MethodTests {
    @Test(arguments: ["", "GE T", "GET\r\n", "GÉT", "G:", "\0", String(repeating: "X", count: 65)])
    func whatIsNoTokenIsNoMethod(_ name: String) {
        #expect(Method(name) == nil)
    }

    @Test func methodsAreComparedByCase() {
        #expect(Method("GET") == .get)
        #expect(Method("get") != .get)
        #expect(Method("M-SEARCH")?.isSafe == false)
    }
}
