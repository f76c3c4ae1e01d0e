import NightjarHTTP
import Testing

@testable import NightjarAPI

@Suite struct YAMLTreeTests {
    @Test(arguments: [
        ("", JSONValue.null), ("~", .null), ("null", .null), ("Null", .null), ("NULL", .null),
        ("nULL", .string("nULL")), ("nil", .string("nil")), ("~x", .string("~x")),
        ("true", .bool(true)), ("True", .bool(true)), ("TRUE", .bool(true)), ("tRue", .string("tRue")),
        ("false", .bool(false)), ("False", .bool(false)), ("FALSE", .bool(false)),
        ("yes", .string("yes")), ("No", .string("No")), ("on", .string("on")), ("OFF", .string("OFF")),
        ("y", .string("y")),
        ("0", .integer(0)), ("-0", .integer(0)), ("+12", .integer(12)), ("-12", .integer(-12)), ("012", .integer(12)),
        ("0o17", .integer(15)), ("0x1F", .integer(31)), ("0xZ", .string("0xZ")), ("0o8", .string("0o8")),
        ("0x", .string("0x")), ("-0x1F", .string("-0x1F")), ("1_000", .string("1_000")), ("0b11", .string("0b11")),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .unsigned(9_223_372_036_854_775_808)), ("18446744073709551615", .unsigned(.max)),
        ("18446744073709551616", .number(18446744073709551616)),
        ("-9223372036854775809", .number(-9223372036854775809)),
        ("0x10000000000000000", .number(18446744073709551616)),
        ("1.5", .number(1.5)), ("-1.5e3", .number(-1500)), (".5", .number(0.5)), ("5.", .number(5)),
        ("+1e2", .number(100)), ("1e+2", .number(100)), ("1e", .string("1e")), ("e1", .string("e1")),
        (".", .string(".")), ("-", .array([.null])), ("+", .string("+")), ("1e999", .string("1e999")),
        (".inf", .string(".inf")), ("-.Inf", .string("-.Inf")), (".nan", .string(".nan")), (".e1", .string(".e1")),
        ("2026-11-21", .string("2026-11-21")), ("12:30", .string("12:30")), ("3.1.0", .string("3.1.0")),
        ("'12'", .string("12")), ("\"true\"", .string("true")), ("''", .string("")), ("\"\\u00e9\"", .string("é")),
        ("|\n  a\n  b\n", .string("a\nb\n")), (">-\n  a\n  b\n", .string("a b")),
        ("!!str 12", .string("12")), ("!!int \"12\"", .integer(12)), ("!!float 1", .number(1)),
        ("!!bool \"true\"", .bool(true)), ("!!null \"\"", .null), ("! 12", .string("12")), ("!own 12", .integer(12)),
        ("!own '12'", .string("12")), ("!!timestamp 2026-11-21", .string("2026-11-21")),
    ])
    func plainScalarsFollowTheCoreSchema(text: String, value: JSONValue) throws {
        let document = text == "-" ? "a:\n -" : "a: \(text)"
        #expect(try json(document) == .object([.init("a", value)]))
    }

    @Test func keysAreTexts() throws {
        let value = try json("200: a\ntrue: b\n~: c\n1.0: d\n'x y': e\n? long\n: f\n")
        #expect(
            value
                == .object([
                    .init("200", .string("a")), .init("true", .string("b")), .init("~", .string("c")),
                    .init("1.0", .string("d")), .init("x y", .string("e")), .init("long", .string("f")),
                ]))
    }

    @Test func flowStyleIsRead() throws {
        let value = try json("{a: [1, two, {b: }], \"c\":3, d: []}\n")
        #expect(
            value
                == .object([
                    .init("a", .array([.integer(1), .string("two"), .object([.init("b", .null)])])),
                    .init("c", .integer(3)), .init("d", .array([])),
                ]))
    }

    @Test func aliasesShareOneNode() throws {
        let text = "base: &b {x: 1}\none: *b\ntwo: [*b, *b]\nname: &n hello\n*n : *n\n"
        let document = try tree(text)
        #expect(document.nodes.count < 25)
        let base = JSONValue.object([.init("x", .integer(1))])
        #expect(
            try document.root.json()
                == .object([
                    .init("base", base), .init("one", base), .init("two", .array([base, base])),
                    .init("name", .string("hello")), .init("hello", .string("hello")),
                ]))
        #expect(document.root["one"]?.pointer.description == "/base")
    }

    @Test func anchorsMayBeRedefined() throws {
        #expect(
            try json("- &a 1\n- *a\n- &a 2\n- *a\n") == .array([.integer(1), .integer(1), .integer(2), .integer(2)]))
    }

    @Test func mergeKeysAddMembers() throws {
        let text = """
            a: &a {x: 1, y: 2}
            b: &b
              <<: *a
              y: 3
              z: 4
            c:
              w: 0
              <<: [*b, *a, {x: 9, v: 8}]
            d: {"<<": 5}
            """
        let value = try tree(text).root
        #expect(
            try value["b"]?.json()
                == .object([.init("y", .integer(3)), .init("z", .integer(4)), .init("x", .integer(1))]))
        #expect(
            try value["c"]?.json()
                == .object([
                    .init("w", .integer(0)), .init("y", .integer(3)), .init("z", .integer(4)), .init("x", .integer(1)),
                    .init("v", .integer(8)),
                ]))
        #expect(value["c"]?["v"]?.text == "8")
        #expect(value["c"]?["q"] == nil)
        #expect(value["d"]?["<<"]?.text == "5")
    }

    @Test func manyMembersAreFound() throws {
        let text = (0..<1000).map { "key\($0): {n: \($0)}" }.joined(separator: "\n")
        let value = try tree(text).root
        #expect((0..<1000).allSatisfy { value["key\($0)"]?["n"]?.text == "\($0)" })
        #expect(value["key1000"] == nil)
    }

    @Test(arguments: [
        ("a: 1\nb: 2\na: 3\n", "api.yaml line 3 column 1: the key \"a\" is defined twice, first on line 1; remove one"),
        (
            (0..<20).map { "k\($0): 1\n" }.joined() + "k7: 2\n",
            "api.yaml line 21 column 1: the key \"k7\" is defined twice, first on line 8; remove one"
        ),
        (
            "a: 1\n---\nb: 2\n",
            "api.yaml line 2 column 1: a second document begins (---); a description must be a single document"
        ),
        ("a: *b\n", "api.yaml line 1 column 4: the alias *b is undefined: there is no anchor &b before it"),
        ("a: &x [1, *x]\n", "api.yaml line 1 column 11: an alias refers to a value that contains the alias"),
        ("[a]: 1\n", "api.yaml line 1 column 1: a key is a list; write the key in quotes"),
        ("? {a: 1}\n: 1\n", "api.yaml line 1 column 3: a key is an object; write the key in quotes"),
        ("a: &x [1]\n*x : 2\n", "api.yaml line 2 column 1: a key is a list or an object; keys must be strings"),
        (
            "a:\n  <<: 5\n",
            "api.yaml line 2 column 7: the value of the merge key << must be an object or a list of objects"
        ),
        ("a: !!int x\n", "api.yaml line 1 column 4: \"x\" does not match its tag !!int"),
        (
            "a: 1\n b: 2\n",
            "api.yaml line 2 column 3: not YAML: mapping values are not allowed in this context"
        ),
        (
            "a: \"x\n",
            "api.yaml line 2 column 1: not YAML: found unexpected end of stream, while scanning a quoted scalar on line 1"
        ),
        ("a: 1\nb: \u{1}\n", "api.yaml line 2 column 4: not YAML: control characters are not allowed (0x1)"),
        (
            String(repeating: "[", count: 300),
            "api.yaml line 1 column 257: values are nested more than 256 levels deep"
        ),
    ])
    func errorsAreReportedWithTheirPosition(text: String, expected: String) {
        #expect(message { _ = try tree(text) } == expected)
    }

    /// libyaml compares each directive with all earlier directives, so 1 MB of directives would take minutes.
    @Test func manyDirectivesAreRejected() throws {
        let few = (0..<100).map { "%TAG !a\($0)! b\n" }.joined()
        #expect(try json(few + "---\na: 1") == .object([.init("a", .integer(1))]))
        let many = few + "%TAG !b! c\n---\na: 1"
        let expected = "api.yaml has more than 100 %TAG directives"
        #expect(message { _ = try tree(many) } == expected)
        #expect(message { _ = try tree("a: 1\n...\n" + many) } == expected)
        let wide: [UInt8] = [0xFF, 0xFE] + many.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        let rejected = message {
            _ = try wide.withUnsafeBytes { bytes in
                Result { () throws(NightjarError) in try DocumentTree.reading(bytes, name: "api.yaml") }
            }.get()
        }
        #expect(rejected == expected)
    }

    @Test func aliasesAreBounded() throws {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            let alias = "*a\(level - 1)"
            text += "a\(level): &a\(level) [\(Array(repeating: alias, count: 10).joined(separator: ", "))]\n"
        }
        let document = try tree(text)
        #expect(document.nodes.count < 200)
        #expect(
            message { _ = try document.root.json() }
                == "api.yaml line 1 column 1: the value is too large, including its aliases (*); make it smaller")
    }

    @Test func depthOfAliasesIsBounded() throws {
        var text = "a0: &a0 [x]\n"
        for level in 1...300 { text += "a\(level): &a\(level) [*a\(level - 1)]\n" }
        #expect(
            message { _ = try tree(text).root["a300"]?.json() }
                == "api.yaml line 301 column 7: with its aliases (*) expanded, the value has more than 256 levels")
    }

    @Test func mergeKeysAreBounded() throws {
        var text = "a: &a {\((0..<1000).map { "k\($0): 1" }.joined(separator: ", "))}\n"
        for number in 0..<1100 { text += "b\(number): {<<: *a}\n" }
        #expect(message { _ = try tree(text) }?.contains("merge keys (<<) add more than 1000000 members") == true)
    }

    @Test func otherEncodingsAreRead() throws {
        let utf16: [UInt8] = [0xFF, 0xFE] + "a: é\n".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let document = try utf16.withUnsafeBytes { bytes in
            Result { () throws(NightjarError) in try DocumentTree.reading(bytes, name: "x") }
        }.get()
        #expect(document.root["a"]?.text == "é")
        #expect(try json("\u{FEFF}a: 1\n") == .object([.init("a", .integer(1))]))
    }
}
