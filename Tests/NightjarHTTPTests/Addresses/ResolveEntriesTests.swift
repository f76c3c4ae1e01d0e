import Testing

@testable import NightjarHTTP

/// Entries in the form of curl's --resolve.
@Suite struct ResolveEntriesTests {
    private func addresses(_ entries: [String], _ host: String, _ port: Int) throws -> [String]? {
        try ResolveEntries(entries).addresses(of: host, port: port)?.map(\.description)
    }

    @Test func hostAndPortHaveAddresses() throws {
        let entries = ["Example.com:443:127.0.0.1,[::1],2001:db8::1"]
        #expect(try addresses(entries, "example.com", 443) == ["127.0.0.1", "::1", "2001:db8::1"])
        #expect(try addresses(entries, "example.com.", 443) == ["127.0.0.1", "::1", "2001:db8::1"])
        #expect(try addresses(entries, "example.com", 80) == nil)
        #expect(try addresses(entries, "www.example.com", 443) == nil)
        #expect(try addresses([], "example.com", 443) == nil)
        #expect(try addresses(["[::1]:80:127.0.0.1"], "::1", 80) == ["127.0.0.1"])
        #expect(try addresses(["bücher.example:80:127.0.0.1"], "xn--bcher-kva.example", 80) == ["127.0.0.1"])
    }

    @Test func anyHostMayHaveAddresses() throws {
        let entries = ["a.test:80:127.0.0.1", "*:80:127.0.0.2"]
        #expect(try addresses(entries, "a.test", 80) == ["127.0.0.1"])
        #expect(try addresses(entries, "b.test", 80) == ["127.0.0.2"])
        #expect(try addresses(entries, "b.test", 81) == nil)
    }

    @Test func laterEntryReplacesAnEarlierOne() throws {
        let entries = ["a.test:80:127.0.0.1", "a.test.:80:127.0.0.2"]
        #expect(try addresses(entries, "a.test", 80) == ["127.0.0.2"])
        #expect(try addresses(entries + ["-A.test:80"], "a.test", 80) == nil)
        #expect(try addresses(entries + ["-*:80"], "a.test", 80) == ["127.0.0.2"])
    }

    @Test(arguments: [
        ("", "the port is missing"), ("a.test", "the port is missing"), ("[::1:80:1.1.1.1", "the port must be"),
        ("[::z]:80:1.1.1.1", "the host"),
        ("a.test:80", "the address is missing"), ("a.test:80:", #""" is not an IP address"#),
        ("a.test:0:1.1.1.1", "the port must be between 1 and 65535"),
        ("a.test:65536:1.1.1.1", "the port must be between 1 and 65535"),
        ("a.test:x:1.1.1.1", "the port must be between 1 and 65535"),
        ("a.test:80:b.test", #""b.test" is not an IP address"#), ("a.test:80:1.1.1.1,", #""" is not an IP address"#),
        ("a b:80:1.1.1.1", #"" " is not allowed in a host name"#), (":80:1.1.1.1", "the URL has no host"),
        ("-a.test:80:1.1.1.1", #"an entry that begins with "-" must not have an address"#),
    ])
    func invalidEntryIsRejected(entry: String, reason: String) {
        let error = #expect(throws: NightjarError.self) { try ResolveEntries([entry]) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.contains(": \(reason)") == true, "\(error?.message ?? "")")
    }
}
