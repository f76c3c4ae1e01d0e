import Testing

@testable import NightjarTransport

@Suite struct ServerIdentityTests {
    private let identity = ServerIdentity(
        names: ["example.com", "*.Example.com", "*.com", "a*.test.org", "xn--bcher-kva.example", "10.0.0.1"].map {
            Array($0.utf8)
        },
        addresses: [[127, 0, 0, 1], Array(repeating: 0, count: 15) + [1]])

    @Test(arguments: [
        "example.com", "example.com.", "EXAMPLE.com", "a.example.com", "xn--a.example.com", "127.0.0.1", "::1",
        "xn--bcher-kva.example",
    ])
    func certificateMatchesItsNames(host: String) {
        #expect(identity.isFor(host))
    }

    @Test(arguments: [
        // An asterisk matches exactly one whole label, and is not allowed directly below a top-level domain.
        "a.b.example.com", ".example.com", "other.com", "com", "ab.test.org", "example.org", "",
        // Addresses do not match names, and names do not match addresses.
        "10.0.0.1", "127.0.0.2", "::2", "[::1]",
    ])
    func certificateMatchesNoOtherNames(host: String) {
        #expect(!identity.isFor(host))
    }
}
