@testable import NightjarHTTP

extension RFC6265bisTests {
    static let requests: [[Row]] = [
        cases(
            "5.8.3", "a cookie is sent to its hosts and paths, and a Secure one only over https",
            [
                // Host-only cookies.
                ("a=b", "https://www.example.com/a/", true), ("a=b", "https://example.com/a/", false),
                ("a=b", "https://x.www.example.com/a/", false), ("a=b", "https://www.example.com:8443/a/", true),
                ("a=b", "http://www.example.com/a/", true),
                // Cookies with a Domain attribute.
                ("a=b; Domain=example.com", "https://example.com/a/", true),
                ("a=b; Domain=example.com", "https://x.y.example.com/a/", true),
                ("a=b; Domain=.example.com", "https://www.example.com/a/", true),
                ("a=b; Domain=www.example.com", "https://x.www.example.com/a/", true),
                ("a=b; Domain=www.example.com", "https://example.com/a/", false),
                ("a=b; Domain=example.com", "https://badexample.com/a/", false),
                ("a=b; Domain=example.com", "https://other.com/a/", false),
                // Paths. The default path is /a.
                ("a=b", "https://www.example.com/a", true), ("a=b", "https://www.example.com/a?x=/y", true),
                ("a=b", "https://www.example.com/", false), ("a=b", "https://www.example.com/ab", false),
                ("a=b; Path=/", "https://www.example.com/", true), ("a=b; Path=/", "https://www.example.com/?q", true),
                ("a=b; Path=/x", "https://www.example.com/a/b", false),
                ("a=b; Path=/x", "https://www.example.com/x/y", true),
                ("a=b; Path=x", "https://www.example.com/a", true),
                // Secure cookies.
                ("a=b; Secure", "https://www.example.com/a", true), ("a=b; Secure", "http://www.example.com/a", false),
            ] as [(String, String, Bool)]
        ) { (.request($0.0, to: $0.1), $0.2 ? .text("a=b") : .nothing) }
    ]

    static let rejections: [[Row]] = [
        cases(
            "5.7", "a cookie for another scope or without a secure connection is rejected",
            [
                ("a=b; Domain=com", "https://www.example.com/", CookieRefusal.publicSuffix),
                ("a=b; Domain=.co.uk", "https://www.example.co.uk/", .publicSuffix),
                ("a=b; Domain=other.com", "https://www.example.com/", .domainMismatch),
                ("a=b; Domain=x.www.example.com", "https://www.example.com/", .domainMismatch),
                ("a=b; Domain=ample.com", "https://www.example.com/", .domainMismatch),
                ("a=b; Domain=example.com:443", "https://www.example.com/", .domainMismatch),
                ("a=b; Domain=0.0.1", "http://127.0.0.1/", .domainMismatch),
                ("a=b; Domain=127.0.0.1", "http://example.com/", .domainMismatch),
                ("a=b; Secure", "http://www.example.com/", .secureFromPlain),
                ("a=b; SameSite=None", "https://www.example.com/", .crossSiteNotSecure),
                ("=", "https://www.example.com/", .empty),
            ] as [(String, String, CookieRefusal)]
        ) { (.store($0.0, from: $0.1), .rejected($0.2)) }
    ]

    static let prefixes: [[Row]] = [
        cases(
            "5.7", "a prefix requires its attributes, in upper and lower case",
            [
                ("__Secure-a=b; Secure", "https", true), ("__Secure-a=b", "https", false),
                ("__secure-a=b", "https", false),
                ("__SECURE-a=b; Secure; Domain=example.com; Path=/x", "https", true),
                ("__Host-a=b; Secure; Path=/", "https", true), ("__Host-a=b; Secure; Path=/; Domain=", "https", true),
                ("__Host-a=b; Path=/", "https", false), ("__Host-a=b; Secure", "https", false),
                ("__Host-a=b; Secure; Path=/a", "https", false),
                ("__host-a=b; Secure; Path=/; Domain=www.example.com", "https", false),
                ("__HOST-a=b; Path=/", "https", false), ("__Host=b", "https", true), ("_Host-a=b", "https", true),
                ("x__Host-a=b", "https", true), ("=__Host-a=b", "https", false), ("__Secure-a", "https", false),
                ("=__secure-a=b; Secure; Path=/", "https", false), ("a=__Host-b", "https", true),
                ("__Host-=b; Secure; Path=/", "https", true),
            ] as [(String, String, Bool)]
        ) { (.store($0.0, from: $0.1 + "://www.example.com/"), $0.2 ? .stored : .rejected(.prefix)) },
        [
            Row(
                "5.7", "a prefix does not permit a Secure cookie over http",
                .store("__Secure-a=b; Secure", from: "http://www.example.com/"), .rejected(.secureFromPlain))
        ],
    ]

    static let overlays: [[Row]] = [
        cases(
            "5.7", "a cookie over http does not overlay a Secure cookie",
            [
                ("sid=evil", "http://www.example.com/", true),
                ("sid=evil; Domain=example.com", "http://x.example.com/", true),
                ("sid=evil", "http://x.www.example.com/", true),
                ("sid=evil; Path=/deep/er", "http://www.example.com/", true),
                ("other=x", "http://www.example.com/", false), ("SID=x", "http://www.example.com/", false),
                ("sid=x", "http://x.example.com/", false),
                ("sid=x; Domain=www.example.com", "https://www.example.com/", false),
                ("sid=evil; Max-Age=0", "http://www.example.com/", true),
            ] as [(String, String, Bool)]
        ) { (.overlay($0.0, from: $0.1), $0.2 ? .rejected(.overwritesSecure) : .stored) }
    ]
}
