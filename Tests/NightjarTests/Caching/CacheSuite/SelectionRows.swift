@testable import NightjarHTTP

// The stored response that a request selects, and the conditions of a validation.

extension SuiteRow {
    private static func variant(_ vary: String...) -> Fields {
        control("max-age=5000") + at("Last-Modified", -3000) + at("Date", 0) + vary.map { ("Vary", $0) }
    }

    private static func with(_ request: Fields, _ response: Fields = [], body: String = "content") -> CacheScenario.Step
    {
        CacheScenario.Step(request: request, response: response, body: body)
    }

    private static func with(_ request: Fields, _ outcome: CacheScenario.Outcome) -> CacheScenario.Step {
        CacheScenario.Step(request: request, outcome: outcome)
    }

    private static let one: Fields = [("Foo", "1")]
    private static let two: Fields = [("Foo", "1"), ("Bar", "abc")]
    private static let three: Fields = [("Foo", "1"), ("Bar", "abc"), ("Baz", "789")]
    private static let languages: Fields = [("Accept-Language", "en, de")]

    private static func language(_ id: String, _ name: String, _ value: String, _ more: Fields = []) -> SuiteRow {
        optimal(
            "vary-normalise-lang-" + id, "4.1", name, with(languages, variant("Accept-Language") + more),
            with([("Accept-Language", value)], .hit))
    }

    static let variants: [SuiteRow] = [
        optimal("vary-match", "4.1", "the same field", with(one, variant("Foo")), with(one, .hit)),
        required("vary-no-match", "4.1", "another field", with(one, variant("Foo")), with([("Foo", "2")])),
        required(
            "vary-omit-stored", "4.1", "a field that the stored request lacks", with([], variant("Foo")), with(one)),
        required("vary-omit", "4.1", "no field", with(one, variant("Foo")), misses),
        optimal(
            "vary-invalidate", "4.1", "two variants", with(one, variant("Foo"), body: "1"),
            with([("Foo", "2")], variant("Foo"), body: "2"), with(one, .returned(200, "1"))),
        optimal(
            "vary-cache-key", "4.1", "a field that Vary does not name", with(one + [("Other", "2")], variant("Foo")),
            with(one + [("Other", "3")], .hit)),
        optimal("vary-2-match", "4.1", "the same two fields", with(two, variant("Foo, Bar")), with(two, .hit)),
        required(
            "vary-2-no-match", "4.1", "another first of two fields", with(two, variant("Foo, Bar")),
            with([("Foo", "2"), ("Bar", "abc")])),
        required("vary-2-match-omit", "4.1", "none of two fields", with(two, variant("Foo, Bar")), misses),
        optimal(
            "vary-3-match", "4.1", "the same three fields", with(three, variant("Foo, Bar, Baz")), with(three, .hit)),
        required(
            "vary-3-no-match", "4.1", "another first of three fields", with(three, variant("Foo, Bar, Baz")),
            with([("Foo", "2"), ("Bar", "abc"), ("Baz", "789")])),
        required(
            "vary-3-order", "4.1", "another one of three fields, in another order",
            with(three, variant("Foo, Bar, Baz")), with([("Foo", "1"), ("Baz", "789"), ("Bar", "abcde")])),
        optimal(
            "vary-3-omit", "4.1", "two of three fields, both times",
            with([("Foo", "1"), ("Baz", "789")], variant("Foo, Bar, Baz")),
            with([("Foo", "1"), ("Baz", "789")], .hit)),
        required("vary-star", "4.1", "a Vary of *", with(three, variant("*")), with(three)),
        optimal(
            "vary-normalise-combine", "4.1", "two lines instead of a list", with([("Foo", "1, 2")], variant("Foo")),
            with([("Foo", "1"), ("Foo", "2")], .hit)),
        optimal(
            "vary-normalise-space", "4.1", "other spaces at commas", with([("Foo", "1,2")], variant("Foo")),
            with([("Foo", " 1, 2 ")], .hit)),
        language("case", "languages in another case", "eN, De"),
        language("space", "languages with other spaces", " en ,   de"),
        language("order", "languages in another order", "de, en")
            .deviating(
                "RFC 9110 section 12.5.4: recipients may treat the order of equal weights as descending priority, so the "
                    + "server may have another response for another order"),
        language(
            "select", "the most preferred language is that of the response", "fr;q=0.5, de;q=1.0",
            [("Content-Language", "de")]
        ).deviating(
            "RFC 9111 section 4.1 permits the reuse only for fields with identical semantics, and these prefer other "
                + "languages"),
    ]

    /// A response is never selected if a member of its Vary is `*`.
    static let anyVariants: [SuiteRow] = [
        ("star", ["*"]), ("star-star", ["*, *"]), ("star-star-lines", ["*", "*"]), ("empty-star", [", *"]),
        ("empty-star-lines", ["", "*"]), ("star-foo", ["*, Foo"]), ("foo-star", ["Foo, *"]),
    ].map { (id: String, lines: [String]) in
        let request = [("Foo", "1"), ("Baz", "789")]
        let response = variant() + lines.map { ("Vary", $0) }
        return required(
            "vary-syntax-" + id, "4.1", "Vary \(lines.map { "'\($0)'" }.joined(separator: " and "))",
            with(request, response), with(request))
    }

    static let conditions: [SuiteRow] = [
        required(
            "conditional-etag-vary-headers", "4.3.1", "fields that Vary names are part of the conditional request",
            CacheScenario.Step(
                request: [("Abc", "123")],
                response: at("Expires", 1) + [("ETag", "\"abcdef\""), ("Vary", "Abc")] + at("Date", 0), pause: wait),
            CacheScenario.Step(request: [("Abc", "123")], outcome: .validated, sent: [("abc", "123")])),
        condition("strong-generate", "a strong entity tag", "\"abcdef\""),
        condition("weak-generate-weak", "a weak entity tag", "W/\"abcdef\""),
    ]

    private static func condition(_ id: String, _ name: String, _ tag: String) -> SuiteRow {
        optimal(
            "conditional-etag-" + id, "4.3.1", name, stores(second + [("ETag", tag)], then: wait),
            CacheScenario.Step(outcome: .validated, sent: [("if-none-match", tag)]))
    }
}
