@testable import NightjarHTTP

extension RFC9111Tests {
    private static let fresh = [("Cache-Control", "max-age=60")]
    private static let tag = [("ETag", "\"a\"")]

    private static func storing(
        _ section: String, _ claim: String, _ response: Fields, status: Int = 200, method: Method = .get,
        request: Fields = [], _ expected: String = "store"
    ) -> Row {
        var conversation = CacheConversation()
        conversation.method = method
        conversation.status = status
        conversation.response = response
        conversation.first = request
        return Row(section, claim, .storability(conversation), expected)
    }

    static let storable: [[Row]] = [
        [
            storing("3", "a response with max-age is stored", fresh),
            storing("3", "a response with Expires is stored", [("Expires", "@60")]),
            storing("5.2.2.7", "a private cache stores private responses", [("Cache-Control", "private, max-age=60")]),
            storing("5.2.2.7", "private may name fields", [("Cache-Control", "private=\"a\", max-age=60")]),
            storing(
                "3.5", "a private cache stores responses to Authorization", fresh,
                request: [("Authorization", "Bearer a")]),
            storing("3", "a response to a request with cookies is stored", fresh, request: [("Cookie", "a=b")]),
            storing("7.3", "a response with Set-Cookie is stored", fresh + [("Set-Cookie", "a=b")]),
            storing("4.3.1", "a response with an entity tag is stored for validation", tag),
            storing("4.3.1", "a response with Last-Modified is stored for validation", [("Last-Modified", "@-60")]),
            storing("5.2.2.4", "no-cache permits storing", [("Cache-Control", "no-cache")] + tag),
            storing(
                "RFC 5861 3", "a stale response with stale-while-revalidate is stored",
                [("Cache-Control", "max-age=0, stale-while-revalidate=60")]),
            storing(
                "RFC 5861 4", "a stale response with stale-if-error is stored",
                [("Cache-Control", "max-age=0, stale-if-error=60")]),
            storing(
                "5.2", "a directive in a quoted string is ignored", [("Cache-Control", "max-age=60, x=\"no-store\"")]),
        ]
    ]

    static let notStorable: [[Row]] = [
        [Method.head, .post, .put, .delete, .patch, .options].map {
            storing("3", "only responses to GET are stored", fresh, method: $0, "method")
        },
        ["no-store", "max-age=0, NO-STORE"].map {
            storing("5.2.1.5", "no-store of a request is obeyed", fresh, request: [("Cache-Control", $0)], "request")
        },
        [
            "no-store", "No-StOrE", "max-age=60, no-store", "no-store=\"a\"", "no-store, max-age=60", "no-store=x",
            "no-store ;", "x=\"broken, no-store", "@@@, no-store", "a b c, no-store", "=, no-store", "\", no-store",
        ].map { storing("5.2.2.5", "no-store is obeyed in invalid syntax", [("Cache-Control", $0)] + tag, "noStore") },
        [
            storing(
                "5.2.2.5", "no-store in another field line is obeyed", fresh + [("Cache-Control", "no-store")],
                "noStore"),
            storing("3", "a response without a lifetime and a validator is not stored", [], "useless"),
            storing(
                "3", "a response with only a Date is not stored",
                [("Date", "@0"), ("Content-Type", "application/json")],
                "useless"),
            storing(
                "3", "a stale response without a validator is not stored", [("Cache-Control", "max-age=0")], "useless"),
            storing(
                "5.2.2.4", "a no-cache response without a validator is not stored",
                [("Cache-Control", "no-cache, max-age=60")], "useless"),
            storing("3", "an expired response without a validator is not stored", [("Expires", "0")], "useless"),
        ],
    ]

    static let statuses: [[Row]] = [
        [
            200, 201, 203, 204, 299, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 451, 499, 500, 501,
            502,
            503, 504, 599,
        ].flatMap { (status: Int) -> [Row] in
            [
                storing("3", "an explicit lifetime permits any final status", fresh, status: status),
                storing(
                    "3", "private permits any final status", [("Cache-Control", "private")] + tag, status: status),
            ]
        },
        [100, 101, 103, 206, 304, 401, 407, 412, 416, 417, 428, 429, 431, 511].map { (status: Int) in
            storing(
                "3", "statuses about the request or the connection are not stored", fresh + tag, status: status,
                "status")
        },
        [201, 302, 303, 307, 400, 403, 500, 503, 599].map { (status: Int) in
            storing("3", "these statuses are stored only with explicit permission", tag, status: status, "notAllowed")
        },
    ]

    private static let understand = [("Cache-Control", "max-age=3600, no-store, must-understand")]

    static let understood: [[Row]] = [
        [
            storing("5.2.2.3", "must-understand overrides no-store for known statuses", understand),
            storing("5.2.2.3", "must-understand overrides no-store for known statuses", understand, status: 404),
            storing("5.2.2.3", "must-understand forbids unknown statuses", understand, status: 599, "status"),
            storing(
                "5.2.2.3", "must-understand forbids unknown statuses",
                [("Cache-Control", "max-age=3600, must-understand")], status: 299, "status"),
            storing(
                "5.2.1.5", "must-understand does not override no-store of a request", understand,
                request: [("Cache-Control", "no-store")], "request"),
        ]
    ]

    // MARK: Variants

    private static func variant(
        _ claim: String, vary: [String], _ first: Fields, then: Fields, _ expected: String = "fresh"
    ) -> Row {
        row("4.1", claim, fresh + vary.map { ("Vary", $0) }, request: then, expected) { $0.first = first }
    }

    private static let one = [("Foo", "1")]
    private static let star = [("Foo", "1"), ("Baz", "789"), ("*", "1")]

    static let variants: [[Row]] = [
        [
            variant("equal fields match", vary: ["Foo"], one, then: one),
            variant("names are case-insensitive", vary: ["fOO"], one, then: [("FOO", "1")]),
            variant("other values do not match", vary: ["Foo"], one, then: [("Foo", "2")], "fetch:vary-miss"),
            variant("an absent field does not match", vary: ["Foo"], one, then: [], "fetch:vary-miss"),
            variant("an additional field does not match", vary: ["Foo"], [], then: one, "fetch:vary-miss"),
            variant("absent fields match", vary: ["Foo"], [], then: []),
            variant("an empty field is not absent", vary: ["Foo"], [("Foo", "")], then: [], "fetch:vary-miss"),
            variant(
                "other fields do not matter", vary: ["Foo"], one + [("Other", "2")], then: one + [("Other", "3")]),
            variant("surrounding blanks do not matter", vary: ["Foo"], one, then: [("Foo", "1 ")]),
            variant(
                "values are case-sensitive", vary: ["Foo"], [("Foo", "a")], then: [("Foo", "A")], "fetch:vary-miss"),
            variant("an empty Vary names no field", vary: [""], one, then: []),
        ],
        [
            ["*"], ["*, *"], [", *"], ["*, Foo"], ["Foo, *"], ["Foo,*,"], ["Foo;*"], ["Foo Bar"], ["\"Foo\""],
            ["*", "*"], ["", "*"], [(0..<40).map { "f\($0)" }.joined(separator: ", ")],
        ].map { (vary: [String]) in
            storing(
                "4.1", "a Vary with *, an invalid name or many names is not stored", fresh + vary.map { ("Vary", $0) },
                request: star, "vary")
        },
        [
            ("Foo", ["1,2"], [" 1, 2 "]), ("Foo", ["1, 2"], ["1", "2"]), ("Foo", ["1", "2"], ["1,2"]),
            ("Foo", ["a;b=\"1, 2\", c"], ["a;b=\"1, 2\",c"]), ("Accept-Language", ["en, de"], ["eN, De"]),
            ("Accept-Language", ["en, de"], [" en ,   de"]), ("Accept-Encoding", ["gzip, br"], ["br,GZIP"]),
            ("Accept-Language", ["en;q=0.5"], ["en; q=0.5"]), ("Foo", ["1,,2"], ["1, 2,"]),
        ].flatMap { (name: String, first: [String], then: [String]) -> [Row] in
            let claim = "spellings with the same meaning match"
            let (first, then) = (first.map { (name, $0) }, then.map { (name, $0) })
            return [
                variant(claim, vary: [name], first, then: then), variant(claim, vary: [name], then, then: first),
            ]
        },
        [
            ("Accept-Language", "en, de", "de, en"), ("Accept", "a/b, c/d", "c/d, a/b"), ("Foo", "a b", "ab"),
            ("Foo", "\"1, 2\"", "\"1,2\""), ("Accept-Language", "en;q=0.5", "en;q=0.6"),
            ("Accept-Encoding", "gzip", "br"),
        ].map { (name: String, first: String, then: String) in
            variant(
                "spellings with another meaning do not match", vary: [name], [(name, first)], then: [(name, then)],
                "fetch:vary-miss")
        },
    ]

    // MARK: Ranges

    private static func range(
        _ section: String, _ claim: String, _ value: String, length: Int = 11, with more: Fields = [],
        _ expected: String
    ) -> Row {
        let response = [
            ("Cache-Control", "max-age=3600"), ("ETag", "\"a\""), ("Last-Modified", "@-100"), ("Date", "@0"),
        ]
        return row("RFC 9110 " + section, claim, response, request: [("Range", value)] + more, expected) {
            $0.length = length
        }
    }

    static let ranges: [[Row]] = [
        [
            ("bytes=0-1", "fresh 206 0-1"), ("bytes=1-", "fresh 206 1-10"), ("bytes=-1", "fresh 206 10-10"),
            ("BYTES=0-0", "fresh 206 0-0"), (" bytes= 2-3 ", "fresh 206 2-3"), ("bytes=5-999", "fresh 206 5-10"),
            ("bytes=-999", "fresh 206 0-10"), ("bytes=0-99999999999999999999999999", "fresh 206 0-10"),
            ("bytes=-99999999999999999999999999", "fresh 206 0-10"),
        ].map { (value: String, expected: String) in
            range("14.1.2", "one range of a stored response is returned", value, expected)
        },
        ["bytes=11-", "bytes=11-12", "bytes=-0", "bytes=99999999999999999999999999-"].map {
            range("15.5.17", "a range after the end is not satisfiable", $0, "fresh 416")
        },
        [
            range("15.5.17", "no range of an empty content is satisfiable", "bytes=0-", length: 0, "fresh 416"),
            range("14.1.2", "a suffix of an empty content is the whole", "bytes=-5", length: 0, "fresh"),
            range(
                "14.2", "two Range fields are forwarded", "bytes=0-1", with: [("Range", "bytes=3-4")], "fetch:request"),
        ],
        [
            "bytes=0-1,3-4", "bytes=0-1, -1", "bytes=", "bytes", "bytes=-", "bytes=a-b", "bytes=2-1", "bytes=1",
            "items=0-1", "bytes 0-1", "bytes=0-1x", "bytes=--1", "bytes=+1-2", "", "=0-1",
        ].flatMap { (value: String) -> [Row] in
            [
                range("14.2", "several, invalid or unknown ranges are forwarded", value, "fetch:request"),
                range(
                    "14.2", "a cache may ignore Range and return the complete response", value,
                    with: [("Cache-Control", "only-if-cached")], "fresh"),
            ]
        },
        [
            ("\"a\"", "fresh 206 0-1"), ("\"b\"", "fresh"), ("W/\"a\"", "fresh"), ("a", "fresh"),
            ("@-100", "fresh 206 0-1"), ("@-99", "fresh"),
        ].map { (value: String, expected: String) in
            range(
                "13.1.5", "If-Range requires an equal strong validator", "bytes=0-1", with: [("If-Range", value)],
                expected)
        },
        [
            range(
                "13.1.5", "the range of another version is ignored", "bytes=99-", with: [("If-Range", "\"b\"")], "fresh"
            ),
            range(
                "13.2.2", "If-None-Match precedes Range", "bytes=0-1", with: [("If-None-Match", "\"a\"")], "fresh 304"),
            range(
                "13.2.2", "If-None-Match precedes Range", "bytes=0-1", with: [("If-None-Match", "\"b\"")],
                "fresh 206 0-1"),
            range(
                "14.2", "no-cache precedes Range", "bytes=0-1", with: [("Cache-Control", "no-cache")],
                "validate:request"),
        ],
    ]
}
