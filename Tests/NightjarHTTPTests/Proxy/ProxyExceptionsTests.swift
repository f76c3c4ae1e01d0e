import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct ProxyExceptionsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let list: String
        let host: String
        let isDirect: Bool
        /// Whether all versions of curl since 7.86 also return the result `isDirect`.
        let isCurls: Bool

        init(_ list: String, _ host: String, _ isDirect: Bool, isCurls: Bool = true) {
            (self.list, self.host, self.isDirect, self.isCurls) = (list, host, isDirect, isCurls)
        }

        var testDescription: String { "\(list) | \(host)" }
    }

    static let cases = [
        Case("", "a.example", false), Case("*", "a.example", true), Case("*", "127.0.0.1", true),
        Case("*,b", "a.example", false), Case("*.example", "a.example", false),
        Case("a.example", "a.example", true), Case("A.Example", "a.example", true),
        Case("a.example", "b.a.example", true),
        Case("a.example", "ba.example", false), Case("a.example", "example", false),
        Case("a.example", "a.example.org", false),
        Case(".a.example", "a.example", true), Case(".a.example", "b.a.example", true),
        Case(".a.example", "ba.example", false),
        Case("a.example.", "a.example", true), Case("a.example", "a.example.", true),
        Case(".a.example.", "b.a.example.", true),
        Case("..a.example", "a.example", false), Case(".", "a.example", false), Case("example", "a.example", true),
        Case("b,a.example", "a.example", true), Case("b, a.example", "a.example", true),
        Case("b ,a.example", "a.example", true),
        Case(" \tb,,, a.example ,", "a.example", true), Case("b a.example", "a.example", true, isCurls: false),
        Case("a.example:80", "a.example", false), Case("a.example/8", "a.example", false),
        Case("127.0.0.1", "127.0.0.1", true), Case("127.0.0.1", "127.0.0.2", false),
        Case("127.0.0.1:80", "127.0.0.1", false),
        Case("localhost", "127.0.0.1", false), Case("127.0.0.1", "localhost", false), Case("0.0.1", "127.0.0.1", false),
        Case("192.168.0.0/16", "192.168.9.9", true), Case("192.168.0.0/16", "192.169.0.0", false),
        Case("192.160.0.0/13", "192.167.255.255", true), Case("192.160.0.0/13", "192.168.0.0", false),
        Case("10.0.0.0/8", "10.200.1.1", true), Case("10.1.2.3/32", "10.1.2.3", true),
        Case("10.1.2.3/32", "10.1.2.2", false),
        Case("10.0.0.0/33", "10.0.0.0", false), Case("10.0.0.0/", "10.0.0.0", false, isCurls: false),
        Case("10.0.0.0/8x", "10.0.0.0", false, isCurls: false),
        Case("10.0.0.0/-8", "10.0.0.0", false), Case("10.0.0.0/4294967304", "10.0.0.0", false, isCurls: false),
        Case("0.0.0.0/0", "10.0.0.0", true, isCurls: false), Case("::/0", "::1", true, isCurls: false),
        Case("::1", "::1", true), Case("0:0::1", "::1", true, isCurls: false),
        Case("[::1]", "::1", true, isCurls: false),
        Case("::1", "::2", false),
        Case("fe80::/10", "fe80::1", true, isCurls: false), Case("fe80::/10", "febf::1", true, isCurls: false),
        Case("fe80::/10", "fec0::1", false),
        Case("::/129", "::1", false), Case("::ffff:127.0.0.1", "127.0.0.1", false),
    ]

    @Test(arguments: cases) func exceptionsMatchHosts(_ test: Case) {
        #expect(ProxyExceptions(test.list).contains(host: test.host) == test.isDirect)
    }

    /// Neither port accepts connections. curl reports which port it tried.
    @Test(arguments: cases.filter(\.isCurls)) func exceptionsMatchAsInCurl(_ test: Case) throws {
        let host = test.host.contains(":") ? "[\(test.host)]" : test.host
        let ports = try Ports.refused(2)
        let (proxy, direct) = (ports[0], ports[1])
        let result = try run(
            "curl",
            [
                "-sv", "--proxy", "http://127.0.0.1:\(proxy)", "--noproxy", test.list, "--connect-to",
                "::127.0.0.1:\(direct)", "http://\(host)/",
            ])
        let port = test.isDirect ? direct : proxy
        #expect(result.errors.contains("connect to 127.0.0.1 port \(port) "), "\(result.errors)")
    }

    @Test func randomBytesDoNotTrap() {
        for seed in UInt64(1)...2000 {
            var random = SeededRandom(seed: seed)
            let alphabet = Array("a.,:[]/ 0123*".utf8)
            let bytes = (0..<Int.random(in: 0..<30, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            let exceptions = ProxyExceptions(String(decoding: bytes, as: UTF8.self))
            for host in ["a", "0.1.2.3", "::1", "a.", ""] { _ = exceptions.contains(host: host) }
        }
    }
}
