@testable import NightjarHTTP

// The response fields that are stored, and the fields that a 304 updates.

extension SuiteRow {
    /// A response field, and whether it is stored and updated.
    private struct Field: Sendable {
        enum Storing { case stored, ofConnection }
        enum Updating { case required, forbidden, unspecified }

        let name: String
        var before = "before"
        var after = "after"
        var storing = Storing.stored
        var updating = Updating.unspecified

        /// The row for Cache-Control sets its own lifetime.
        var lifetime: Fields { name == "Cache-Control" ? [] : SuiteRow.hour }
        func content(_ value: String) -> String {
            name == "Content-Length" ? String(repeating: "x", count: Int(value) ?? 0) : "content"
        }
    }

    private static func ofConnection(_ name: String) -> Field { Field(name: name, storing: .ofConnection) }

    private static let known: [Field] = [
        Field(name: "Test-Header", updating: .required),
        Field(name: "X-Test-Header", updating: .required),
        Field(name: "Content-Foo", updating: .required),
        Field(name: "X-Content-Foo", updating: .required),
        Field(name: "Cache-Control", before: "max-age=1", after: "max-age=3600", updating: .required),
        ofConnection("Connection"),
        Field(name: "Content-Encoding"),
        Field(name: "Content-Length", before: "5", after: "10", updating: .forbidden),
        Field(name: "Content-Location", after: "/bar"),
        Field(name: "Content-MD5", after: "N7UdGUp1E+RbVvZSTy1R8g=="),
        Field(name: "Content-Range"),
        Field(name: "Content-Security-Policy", after: "default-src 'self' cdn.example.com"),
        Field(name: "Content-Type", after: "text/plain;charset=utf-8"),
        Field(name: "Clear-Site-Data", after: "cookies"),
        Field(name: "ETag", after: "\"ghijkl\""),
        Field(name: "Expires", after: "Mon, 11 Jan 2038 11:11:11 GMT"),
        ofConnection("Keep-Alive"),
        ofConnection("Proxy-Authenticate"),
        ofConnection("Proxy-Authentication-Info"),
        ofConnection("Proxy-Authorization"),
        ofConnection("Proxy-Connection"),
        Field(name: "Public-Key-Pins"),
        Field(name: "Set-Cookie", after: "a=c"),
        Field(name: "Set-Cookie2", after: "a=c"),
        ofConnection("TE"),
        ofConnection("Transfer-Encoding"),
        ofConnection("Upgrade"),
        Field(name: "X-Frame-Options", after: "sameorigin"),
        Field(name: "X-XSS-Protection", after: "1; mode=block"),
    ]

    static let fields: [SuiteRow] =
        known.map { (field: Field) -> SuiteRow in
            let isStored = field.storing == .stored
            let row = required(
                "headers-store-\(field.name)", "3.1", "\(field.name) is \(isStored ? "" : "not ")stored",
                CacheScenario.Step(
                    response: at("Date", 0) + [(field.name, field.after)] + field.lifetime,
                    body: field.content(field.after)),
                CacheScenario.Step(outcome: .hit, fields: [(field.name, isStored ? field.after : nil)]))
            guard field.name == "Transfer-Encoding" else { return row }
            return row.failing(
                "RFC 9112 section 6.1: the value of the suite is a random name, and a client cannot read content with an "
                    + "unknown transfer coding")
        } + [
            required(
                "headers-omit-headers-listed-in-Connection", "3.1", "fields that Connection names are not stored",
                stores(hour + [("Connection", "a, b"), ("a", "1"), ("b", "2"), ("c", "3")]),
                CacheScenario.Step(outcome: .hit, fields: [("a", nil), ("b", nil), ("c", "3")]))
        ]

    static let updates: [SuiteRow] =
        [
            required(
                "304-lm-use-stored-Test-Header", "4.3.4", "a field that the 304 lacks",
                stores(
                    second + at("Date", 0)
                        + [("Last-Modified", "Wed, 01 Jan 2020 00:00:00 GMT"), ("Test-Header", "before")],
                    then: wait),
                CacheScenario.Step(
                    response: [("Last-Modified", "Wed, 01 Jan 2020 00:00:00 GMT")] + at("Date", 0),
                    outcome: .validated, fields: [("Test-Header", "before")]))
        ]
        + known.filter { $0.updating != .unspecified }.map { field in
            let tag = [("ETag", "\"1\"")]
            let expected = field.updating == .required ? field.after : field.before
            let lifetime = field.name == "Cache-Control" ? [] : second
            return required(
                "304-etag-update-response-\(field.name)", "3.2",
                "\(field.name) is \(field.updating == .required ? "" : "not ")updated by a 304",
                CacheScenario.Step(
                    response: at("Date", 0) + [(field.name, field.before)] + lifetime + tag,
                    body: field.content(field.before), pause: wait),
                CacheScenario.Step(
                    response: at("Date", 0) + [(field.name, field.after)] + field.lifetime + tag,
                    outcome: .validated, fields: [(field.name, expected)]),
                CacheScenario.Step(outcome: .hit, fields: [(field.name, expected)]))
        }
}
