@testable import NightjarHTTP

extension RFC6265bisTests {
    private static func field(_ text: String) -> Input { .field(Array(text.utf8)) }

    /// Returns a field with the cookie `a=b` and attributes, and the expected cookie with the recognized attributes.
    private static func attributes(_ text: String, _ recognized: String?) -> (Input, Expected) {
        (field("a=b; " + text), .text("a=b" + (recognized.map { "; " + $0 } ?? "")))
    }

    static let pairs: [[Row]] = [
        cases(
            "5.6", "the first = separates name and value, without the surrounding blanks",
            [
                ("a=b", "a", "b"), ("a=", "a", ""), ("=b", "", "b"), ("b", "", "b"), (" \ta \t=\t b ", "a", "b"),
                ("a=b=c", "a", "b=c"), ("a=\"b c\"", "a", "\"b c\""), ("a=b;", "a", "b"), ("a=b;;;", "a", "b"),
                ("a=b\tc", "a", "b\tc"), ("a=b,c=d", "a", "b,c=d"), ("a=é", "a", "é"), ("a b=c d", "a b", "c d"),
                ("a;b=c", "", "a"), ("==", "", "="), ("Secure", "", "Secure"),
            ] as [(String, String, String)]
        ) { (field($0.0), .text($0.1 + "=" + $0.2)) },
        cases(
            "5.6", "a cookie without a name and a value is rejected",
            [
                "", "=", " = ", ";", "; a=b", "=; Path=/", "\t",
            ] as [String]
        ) { (field($0), .rejected(.empty)) },
        [
            Row("5.6", "name and value have at most 4096 bytes", field("a=" + x(4096)), .rejected(.tooLarge)),
            Row("5.6", "name and value have at most 4096 bytes", field(x(4097)), .rejected(.tooLarge)),
            Row(
                "5.6", "name and value have at most 4096 bytes", field("a=" + x(4095) + "; Secure"),
                .text("a=" + x(4095) + "; secure")),
        ],
    ]

    private static func x(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let controls: [[Row]] = [
        (Array(UInt8(0)...0x20) + [0x7F]).flatMap { (byte: UInt8) -> [Row] in
            let control = String(UnicodeScalar(byte))
            let isAllowed = byte == 0x09 || byte == 0x20
            let claim = "control characters other than the tab are rejected"
            return [
                ("a\(control)b=c", "a\(control)b=c"), ("a=b\(control)c", "a=b\(control)c"), ("a=b; x\(control)", "a=b"),
            ].map { Row("5.6", claim, field($0.0), isAllowed ? .text($0.1) : .rejected(.controlCharacter)) }
        },
        [
            Row(
                "5.6", "a name and value that are not UTF-8 are rejected", .field([0x61, 0x3D, 0xFF]),
                .rejected(.notUTF8)),
            Row("5.6", "a name and value that are not UTF-8 are rejected", .field([0xC3, 0x3D]), .rejected(.notUTF8)),
            Row(
                "5.6", "a path that is not UTF-8 is rejected", .field(Array("a=b; path=/".utf8) + [0xFF]),
                .rejected(.notUTF8)),
            Row(
                "5.6", "bytes of unknown attributes are ignored", .field(Array("a=b; x=".utf8) + [0xFF]), .text("a=b")),
        ],
    ]

    static let lifetimes: [[Row]] = [
        cases(
            "5.6.2", "Max-Age is a number of seconds, at most 400 days",
            [
                ("Max-Age=10", 10), ("max-age= 10 ", 10), ("Max-Age=0", 0), ("Max-Age=-1", 0),
                ("Max-Age=-99999999999999999999", 0),
                ("Max-Age=0010", 10), ("Max-Age=34560000", 34_560_000), ("Max-Age=34560001", 34_560_000),
                ("Max-Age=9223372036854775808", 34_560_000),
                ("Max-Age=" + String(repeating: "9", count: 1000), 34_560_000),
                ("Max-Age=", nil), ("Max-Age", nil), ("Max-Age=-", nil), ("Max-Age=+1", nil), ("Max-Age=1.5", nil),
                ("Max-Age=1e3", nil), ("Max-Age=10s", nil), ("Max-Age=\"10\"", nil), ("Max-Age=--1", nil),
                ("Max-Age=5; Max-Age=7", 7), ("Max-Age=5; Max-Age=x", 5), ("MaxAge=5", nil),
            ] as [(String, Int64?)]
        ) { attributes($0.0, $0.1.map { "max-age=\($0)" }) },
        cases(
            "5.6.1", "Expires is a date",
            [
                ("Expires=Thu, 01 Jan 1970 00:00:10 GMT", 10), ("EXPIRES=1 jan 1970 00:00:10", 10),
                ("Expires=never", nil),
                ("Expires=1 jan 1970 00:00:10; Expires=never", 10),
                ("Expires=1 jan 1970 00:00:10; Expires=1 jan 1970 00:00:20", 20), ("Expires", nil),
            ] as [(String, Int64?)]
        ) { attributes($0.0, $0.1.map { "expires=\($0)" }) },
    ]

    static let scopes: [[Row]] = [
        cases(
            "5.6.3", "Domain has no leading dot and is lower-case; the last one counts",
            [
                ("Domain=example.com", "example.com"), ("domain=.Example.COM", "example.com"), ("Domain=..a", ".a"),
                ("Domain=", nil), ("Domain", nil), ("Domain=.", nil), ("Domain=a; Domain=b", "b"),
                ("Domain=a; Domain=", nil),
                ("Domain= a ", "a"),
            ] as [(String, String?)]
        ) { attributes($0.0, $0.1.map { "domain=" + $0 }) },
        [Row("5.6.3", "Domain is ASCII", field("a=b; Domain=bücher.example"), .rejected(.domainMismatch))],
        cases(
            "5.6.4", "Path begins with a slash; the last one counts",
            [
                ("Path=/", "/"), ("path=/a/b", "/a/b"), ("Path=a", nil), ("Path=", nil), ("Path", nil),
                ("Path=\"/\"", nil),
                ("Path=/a; Path=/b", "/b"), ("Path=/a; Path=b", nil), ("Path=/a=b", "/a=b"),
                ("Path=/" + String(repeating: "x", count: 1024), nil),
                ("Path=/a; Path=/" + String(repeating: "x", count: 1024), "/a"),
            ] as [(String, String?)]
        ) { attributes($0.0, $0.1.map { "path=" + $0 }) },
        cases(
            "5.6.7", "SameSite is None, Lax or Strict",
            [
                ("SameSite=None", .none), ("samesite=STRICT", .strict), ("SameSite=Lax", .lax),
                ("SameSite=x", .unspecified),
                ("SameSite", .unspecified), ("SameSite=Strict; SameSite=None", .none),
                ("SameSite=Strict; SameSite=x", .unspecified),
            ] as [(String, Cookie.SameSite)]
        ) { attributes($0.0, $0.1 == .unspecified ? nil : "samesite=\($0.1.rawValue)") },
    ]

    static let flags: [[Row]] = [
        cases(
            "5.6.5", "Secure and HttpOnly are present or absent, whatever their value",
            [
                ("Secure", true, false), ("SECURE=no", true, false), ("HttpOnly", false, true),
                (" httponly =x;secure", true, true),
                ("Secur", false, false), ("Secure " + "HttpOnly", false, false),
                ("Partitioned; Priority=High", false, false),
                ("Secure=" + String(repeating: "x", count: 1025), false, false),
            ] as [(String, Bool, Bool)]
        ) { (field("a=b;" + $0.0), .text("a=b" + ($0.1 ? "; secure" : "") + ($0.2 ? "; httponly" : ""))) }
    ]
}
