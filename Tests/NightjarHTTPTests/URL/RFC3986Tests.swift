import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// URLs and references, by section of RFC 3986.
@Suite struct RFC3986Tests {
    enum Input: Sendable {
        case url(String)
        /// The value of a Location field.
        case reference(String, base: String)
    }

    enum Expected: Sendable, Equatable {
        /// The origin and the target.
        case url(String)
        /// The reason, which is part of the message.
        case invalid(String)
    }

    typealias Row = RFCRow<Input, Expected>

    static let rows: [Row] = [
        schemes, userInfo, hosts, addresses, internationalNames, ports, paths, encodings, references, [normalExamples],
        [abnormalExamples], serverReferences,
    ].joined().flatMap { $0 }

    @Test(arguments: rows)
    func rowHolds(_ row: Row) { #expect(outcome(of: row) == row.expected) }

    private func outcome(of row: Row) -> Expected {
        do throws(NightjarError) {
            let url = try resolved(row.input)
            return url.userInfo == nil ? .url(url.origin.description + url.target) : .url("\(url)")
        } catch {
            // A message may contain more than the expected reason.
            guard error.kind == .invalidURL else { return .invalid("\(error)") }
            if case .invalid(let reason) = row.expected, error.message.contains(reason) { return row.expected }
            return .invalid(error.message)
        }
    }

    private func resolved(_ input: Input) throws(NightjarError) -> RequestURL {
        switch input {
        case .url(let text): return try RequestURL(text)
        case .reference(let text, let base):
            let baseURL = try RequestURL(base)
            return try Array(text.utf8).withUnsafeBytes { bytes in
                Result { () throws(NightjarError) in try Location(bytes, base: baseURL, fragment: nil).url }
            }.get()
        }
    }

    // MARK: Rows

    private static func valid(_ section: String, _ claim: String, _ cases: [(String, String)]) -> [Row] {
        Row.rows(section, claim, cases.map { (.url($0.0), .url($0.1)) })
    }

    private static func invalid(_ section: String, _ claim: String, _ cases: [(String, String)]) -> [Row] {
        Row.rows(section, claim, cases.map { (.url($0.0), .invalid($0.1)) })
    }

    private static func resolving(
        _ section: String, _ claim: String, base: String = "http://a/b/c/d;p?q", _ cases: [(String, String)]
    ) -> [Row] {
        Row.rows(section, claim, cases.map { (.reference($0.0, base: base), .url($0.1)) })
    }

    static let schemes: [[Row]] = [
        valid(
            "3.1", "schemes are case-insensitive",
            [("HTTPS://example.com/Path", "https://example.com/Path"), ("hTTp://h/", "http://h/")]),
        invalid(
            "3.1", "a URL begins with a scheme",
            [
                ("", "no scheme"), ("/path", "no scheme"), ("example.com", "no scheme"),
                ("example.com:80/", "no scheme"), ("://h", "no scheme"), (" http://h", "no scheme"),
            ]),
        invalid(
            "3.1", "other schemes are rejected",
            [
                ("ftp://h/", "\"ftp\" is not http or https"), ("file:///etc/passwd", "\"file\" is not"),
                ("ws://h/", "\"ws\" is not http or https; WebSocket is not supported yet"),
                ("WSS://h/", "WebSocket is not supported yet"), ("1http://h", "\"1http\" is not http or https"),
            ]),
        invalid(
            "3", "the scheme is followed by an authority",
            [("http:/h", "has no \"//\" after the scheme"), ("https:h", "has no \"//\" after the scheme")]),
    ]

    static let userInfo: [[Row]] = [
        valid("3.2.1", "an @ after the authority is part of the path", [("http://h/@user", "http://h/@user")]),
        invalid(
            "3.2.1", "reserved characters of the user information are encoded",
            [
                ("http://a@b@c/", "\"@\" is not allowed"), ("http://a b@c/", "percent-encoded"),
                ("http://é@c/", "percent-encoded"), ("http://good.com\\@evil.com/", "percent-encoded"),
            ]),
    ]

    static let hosts: [[Row]] = [
        valid(
            "3.2.2", "hosts are case-insensitive",
            [
                ("https://Example.COM/Path", "https://example.com/Path"),
                ("http://under_score.example-1.com./", "http://under_score.example-1.com./"),
            ]),
        invalid(
            "3.2.2", "the host is not empty",
            [
                ("http://", "no host"), ("http:///a", "no host"), ("http://:80/", "no host"), ("http://?q", "no host"),
                ("http://user@/", "no host"),
            ]),
        invalid(
            "3.2.2", "a registered name has no empty label and no delimiter",
            [
                ("http://a..b/", "empty label"), ("http://.a/", "empty label"), ("http://./", "empty label"),
                ("http://a b/", "\" \" is not allowed"), ("http://a%41/", "\"%\" is not allowed"),
                ("http://a,b/", "\",\" is not"), ("http://h\n/", "0xa"), ("http://\0/", "0x0"),
            ]),
    ]

    static let addresses: [[Row]] = [
        valid(
            "3.2.2", "addresses have one canonical form",
            [
                ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"), ("http://[::1]:8080/a", "http://[::1]:8080/a"),
                ("http://[0:0:0:0:0:0:0:1]", "http://[::1]/"), ("http://[2001:DB8::A]", "http://[2001:db8::a]/"),
                ("http://[::ffff:1.2.3.4]/", "http://[::ffff:1.2.3.4]/"),
            ]),
        invalid(
            "3.2.2", "brackets contain an IPv6 address",
            [
                ("http://[::1/", "IPv6"), ("http://[]/", "IPv6"), ("http://[::1]x/", "IPv6"),
                ("http://[fe80::1%25eth0]/", "IPv6"), ("http://[1.2.3.4]/", "IPv6"), ("http://[v1.x]/", "IPv6"),
                ("http://[::1::]/", "IPv6"), ("http://[1:2:3:4:5:6:7]/", "IPv6"), ("http://::1/", "port"),
            ]),
        invalid(
            "7.4", "unusual forms of IPv4 addresses are rejected",
            [
                ("http://127.1/", "IPv4"), ("http://2130706433/", "IPv4"), ("http://0x7f000001/", "IPv4"),
                ("http://127.0.0.0x1/", "IPv4"), ("http://1.2.3.4.5/", "IPv4"), ("http://256.1.1.1/", "IPv4"),
                ("http://127.0.0.01/", "IPv4"), ("http://1.2.3.4./", "IPv4"),
            ]),
    ]

    static let internationalNames: [[Row]] = [
        valid(
            "3.2.2", "names in other letters are converted by IDNA",
            [
                ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
                ("http://Bücher.example:81/", "http://xn--bcher-kva.example:81/"),
                ("http://bu\u{308}cher.example/", "http://xn--bcher-kva.example/"),
                ("http://straße.example/", "http://xn--strae-oqa.example/"),
                ("http://日本。jp/", "http://xn--wgv71a.jp/"), ("http://ＡＢＣ.example./", "http://abc.example./"),
                ("http://１２７.0.0.1/", "http://127.0.0.1/"),
            ]),
        // IDNA maps some of these letters to a/c, % or digits.
        invalid(
            "3.2.2", "letters that IDNA forbids or maps to an invalid host are rejected",
            [
                ("http://\u{378}.example/", "IDNA"), ("http://℀.example/", "\"/\" is not allowed"),
                ("http://％41/", "\"%\""), ("http://１２７.1/", "not an IPv4 address"),
                ("http://bücher..example/", "the host"),
                ("http://" + String(repeating: "ü", count: 60) + "/", "the host"),
                ("http://" + String(repeating: "ü", count: 600) + "/", "1200 bytes"),
            ]),
    ]

    static let ports: [[Row]] = [
        valid(
            "6.2.3", "the default port is omitted",
            [
                ("https://example.com:443/a", "https://example.com/a"),
                ("http://example.com:80", "http://example.com/"),
                ("https://example.com:80", "https://example.com:80/"),
                ("http://example.com:/a", "http://example.com/a"),
                ("http://example.com:0080/a", "http://example.com/a"),
            ]),
        invalid(
            "3.2.3", "a port is a number from 1 to 65535",
            [
                ("http://h:0/", "port"), ("http://h:65536/", "port"), ("http://h:-1/", "port"),
                ("http://h:8o/", "port"),
                ("http://h:99999999999999999999/", "port"), ("http://h:80:80/", "port"),
            ]),
    ]

    static let paths: [[Row]] = [
        valid(
            "6.2.3", "an empty path is /",
            [("http://example.com", "http://example.com/"), ("http://example.com/", "http://example.com/")]),
        valid(
            "3.3", "empty segments and dot segments of a URL are preserved",
            [("http://example.com//a//", "http://example.com//a//"), ("http://h/a/../b/./c", "http://h/a/../b/./c")]),
        valid(
            "3.4", "the query begins at the first ?",
            [
                ("http://example.com?q=1", "http://example.com/?q=1"),
                ("http://example.com/a?", "http://example.com/a"),
                ("http://example.com/a?b?c=/d", "http://example.com/a?b?c=/d"),
            ]),
        valid(
            "3.5", "the fragment is not part of the target",
            [
                ("http://example.com/a#b?c", "http://example.com/a"), ("http://example.com#a", "http://example.com/"),
                ("http://example.com/a?b#c#d", "http://example.com/a?b"),
            ]),
    ]

    static let encodings: [[Row]] = [
        valid(
            "2.1", "bytes that a URL cannot contain are percent-encoded",
            [
                ("http://h/a b", "http://h/a%20b"), ("http://h/a%20b%2f%zz%", "http://h/a%20b%2f%25zz%25"),
                ("http://h/\"<>\\^`{|}[]", "http://h/%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D"),
                ("http://h/é/日本?ü=ö", "http://h/%C3%A9/%E6%97%A5%E6%9C%AC?%C3%BC=%C3%B6"),
            ]),
        valid(
            "2.2", "delimiters that a path may contain are preserved",
            [("http://h/!$&'()*+,;=:@-._~", "http://h/!$&'()*+,;=:@-._~")]),
        valid(
            "2.4", "encoded bytes are not decoded or encoded again",
            [("http://h/%41%7E%2F%25", "http://h/%41%7E%2F%25")]),
        invalid(
            "2", "control characters are rejected",
            [
                ("http://h/a\nb", "0xa"), ("http://h/a\r\nHost: x", "0xd"), ("http://h/\0", "0x0"),
                ("http://h/a\tb", "0x9"), ("http://h/?a\u{7F}", "0x7f"),
            ]),
    ]

    static let references: [[Row]] = [
        resolving(
            "5.2.4", "dot segments of the merged path are removed", base: "http://a/mid/content=5/x",
            [("../6", "http://a/mid/6"), ("/a/b/c/./../../g", "http://a/a/g"), ("./.", "http://a/mid/content=5/")]),
        resolving(
            "5.2.3", "a base without a path has the path /", base: "http://a?q",
            [("g", "http://a/g"), ("./g", "http://a/g"), ("?y", "http://a/?y")]),
        resolving(
            "5.2.2", "the authority of the reference replaces that of the base",
            [("//g?y", "http://g/?y"), ("//g/./x", "http://g/x"), ("//g:81#s", "http://g:81/")]),
        resolving(
            "4.2", "a colon after ./ or after an invalid scheme is part of the path",
            [("./c:d", "http://a/b/c/c:d"), ("1x:y", "http://a/b/c/1x:y")]),
    ]

    static let normalExamples = resolving(
        "5.4.1", "normal example",
        [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y"),
            (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
            ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"), ("../../g", "http://a/g"),
        ])

    static let abnormalExamples = resolving(
        "5.4.2", "abnormal example",
        [
            ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"),
            ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."),
            ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"),
            ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
            ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
            ("g#s/../x", "http://a/b/c/g"),
        ])

    static let serverReferences: [[Row]] = [
        resolving(
            "5.2.2", "an absolute URL replaces the base",
            [
                ("https://b.example/x", "https://b.example/x"), ("HTTP://B.Example:80/x", "http://b.example/x"),
                ("http://b", "http://b/"), ("http://b?x", "http://b/?x"), ("http://b/x/../../y/.", "http://b/y/"),
                ("//b:8080/x", "http://b:8080/x"), ("http://[::1]:81/x", "http://[::1]:81/x"),
            ]),
        resolving(
            "5.2.4", "only complete segments of dots are removed",
            [("/a//b/../c", "http://a/a//c"), ("/a?", "http://a/a?"), ("/%2e%2e/x", "http://a/%2e%2e/x")]),
        resolving(
            "2.1", "bytes that a URL cannot contain are percent-encoded",
            [
                ("/a b/%41%zz|\"<>?x=y z", "http://a/a%20b/%41%25zz%7C%22%3C%3E?x=y%20z"), ("/ü", "http://a/%C3%BC"),
                ("/\\evil.example/x", "http://a/%5Cevil.example/x"),
            ]),
    ]
}
