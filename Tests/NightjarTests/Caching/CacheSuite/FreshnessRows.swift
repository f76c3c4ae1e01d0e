@testable import NightjarHTTP

// The freshness lifetime from Cache-Control and Age.

extension SuiteRow {
    /// A row that expects a reuse if `kind` is `.optimal`, and a miss if it is `.required`.
    private static func reuse(
        _ id: String, _ section: String, _ name: String, _ response: Fields, as kind: Kind, then pause: Duration = .zero
    ) -> SuiteRow {
        switch kind {
        case .optimal: optimal(id, section, name, stores(response, then: pause), hits)
        case .required: required(id, section, name, stores(response, then: pause), misses)
        }
    }

    static let lifetimes: [SuiteRow] = [
        reuse("freshness-max-age", "5.2.2.1", "a positive max-age", hour, as: .optimal),
        reuse("freshness-max-age-stale", "4.2", "a max-age that has passed", second, as: .required, then: wait),
        reuse("freshness-max-age-0", "5.2.2.1", "max-age=0", control("max-age=0"), as: .required),
        reuse(
            "freshness-max-age-max-minus-1", "1.2.2", "the last max-age of 31 bits", control("max-age=2147483647"),
            as: .optimal),
        reuse(
            "freshness-max-age-max", "1.2.2", "the first max-age of 32 bits", control("max-age=2147483648"),
            as: .optimal),
        reuse(
            "freshness-max-age-max-plus-1", "1.2.2", "a max-age of 32 bits", control("max-age=2147483649"), as: .optimal
        ),
        reuse(
            "freshness-max-age-max-plus", "1.2.2", "a max-age of 37 bits", control("max-age=99999999999"), as: .optimal),
        reuse(
            "freshness-max-age-age", "4.2.3", "an Age beyond max-age", hour + at("Date", 0) + [("Age", "7200")],
            as: .required),
        reuse(
            "freshness-max-age-expires", "5.3", "max-age with an Expires of the past",
            hour + at("Expires", -7200) + at("Date", 0), as: .optimal),
        reuse(
            "freshness-max-age-expires-invalid", "5.3", "max-age with an invalid Expires",
            hour + [("Expires", "0")] + at("Date", 0), as: .optimal),
        reuse(
            "freshness-max-age-0-expires", "5.3", "max-age=0 with an Expires of the future",
            at("Expires", 3600) + control("max-age=0") + at("Date", 0), as: .required),
        reuse(
            "freshness-max-age-extension", "5.2.3", "max-age after an unknown directive",
            control("foobar, max-age=3600"), as: .optimal),
        reuse(
            "freshness-max-age-case-insenstive", "5.2", "max-age in mixed case", control("MaX-aGe=3600"), as: .optimal),
        reuse("freshness-max-age-negative", "1.2.2", "a negative max-age", control("max-age=-3600"), as: .required),
        reuse(
            "freshness-max-age-s-maxage-private", "5.2.2.10", "a longer s-maxage", control("s-maxage=3600, max-age=1"),
            as: .required, then: wait),
        reuse(
            "freshness-max-age-s-maxage-private-multiple", "5.2.2.10", "a longer s-maxage in a separate line",
            control("s-maxage=3600") + second, as: .required, then: wait),
        reuse(
            "freshness-max-age-ignore-quoted", "5.2", "max-age in quotes before the directive",
            control("extension=\"max-age=3600\", max-age=1"), as: .required, then: wait),
        reuse(
            "freshness-max-age-ignore-quoted-rev", "5.2", "max-age in quotes after the directive",
            control("max-age=1, extension=\"max-age=3600\""), as: .required, then: wait),
        required(
            "freshness-max-age-leading-zero", "1.2.2", "max-age with leading zeros", stores(control("max-age=003600")),
            hits),
        reuse(
            "freshness-max-age-single-quoted", "5.2", "max-age in single quotes", control("max-age='3600'"),
            as: .required),
    ]

    /// A row with these Age fields.
    private static func age(
        _ id: String, _ name: String, _ values: String..., lifetime: String = "max-age=3600", isFresh: Bool
    ) -> SuiteRow {
        let response = at("Date", 0) + control(lifetime) + values.map { ("Age", $0) }
        return required("age-parse-" + id, "5.1", name, stores(response), isFresh ? hits : misses)
    }

    static let ages: [SuiteRow] = [
        age("nonnumeric", "an Age of letters is ignored", "abc", isFresh: true),
        age("negative", "a negative Age is ignored", "-7200", isFresh: true),
        age("float", "an Age with a fraction is ignored", "7200.0", isFresh: true),
        age("large-minus-one", "the last Age of 31 bits", "2147483647", isFresh: false),
        age("large", "the first Age of 32 bits", "2147483648", isFresh: false),
        age("larger", "an Age of 32 bits", "2147483649", isFresh: false),
        age("suffix", "the first value of a list, which is old", "7200, 0", isFresh: false),
        age("prefix", "the first value of a list, which is young", "0, 7200", isFresh: true),
        age("suffix-twoline", "the first of two lines, which is old", "7200", "0", isFresh: false),
        age("prefix-twoline", "the first of two lines, which is young", "0", "7200", isFresh: true),
        age("dup-0", "a list of twice zero", "0, 0", isFresh: true),
        age("dup-0-twoline", "two lines of zero", "0", "0", isFresh: true),
        age("dup-old", "two equal lines within the lifetime", "3600", "3600", lifetime: "max-age=10000", isFresh: true),
    ]
}
