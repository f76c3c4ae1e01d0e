import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// The examples of OpenAPI 3.1.1 section 4.8.12.6, and cases that OpenAPI does not define.
@Suite struct ParameterTextTests {
    private static let empty = JSONValue.string("")
    private static let string = JSONValue.string("blue")
    private static let array = JSONValue.array([.string("blue"), .string("black"), .string("brown")])
    private static let object = JSONValue.object([
        .init("R", .integer(100)), .init("G", .integer(200)), .init("B", .integer(150)),
    ])

    struct Row: Sendable, CustomStringConvertible {
        let style: ParameterStyle
        let explodes: Bool
        let empty: String
        let string: String
        let array: String
        let object: String

        var description: String { "\(style) \(explodes)" }
    }

    private static let segments = [
        Row(
            style: .matrix, explodes: false, empty: ";color", string: ";color=blue", array: ";color=blue,black,brown",
            object: ";color=R,100,G,200,B,150"),
        Row(
            style: .matrix, explodes: true, empty: ";color", string: ";color=blue",
            array: ";color=blue;color=black;color=brown", object: ";R=100;G=200;B=150"),
        Row(
            style: .label, explodes: false, empty: ".", string: ".blue", array: ".blue,black,brown",
            object: ".R,100,G,200,B,150"),
        Row(
            style: .label, explodes: true, empty: ".", string: ".blue", array: ".blue.black.brown",
            object: ".R=100.G=200.B=150"),
        Row(
            style: .simple, explodes: false, empty: "", string: "blue", array: "blue,black,brown",
            object: "R,100,G,200,B,150"),
        Row(
            style: .simple, explodes: true, empty: "", string: "blue", array: "blue,black,brown",
            object: "R=100,G=200,B=150"),
    ]

    private static let items = [
        Row(
            style: .form, explodes: false, empty: "color=", string: "color=blue", array: "color=blue,black,brown",
            object: "color=R,100,G,200,B,150"),
        Row(
            style: .form, explodes: true, empty: "color=", string: "color=blue",
            array: "color=blue&color=black&color=brown", object: "R=100&G=200&B=150"),
        Row(
            style: .spaceDelimited, explodes: false, empty: "color=", string: "color=blue",
            array: "color=blue%20black%20brown", object: "color=R%20100%20G%20200%20B%20150"),
        Row(
            style: .spaceDelimited, explodes: true, empty: "color=", string: "color=blue",
            array: "color=blue&color=black&color=brown", object: "R=100&G=200&B=150"),
        Row(
            style: .pipeDelimited, explodes: false, empty: "color=", string: "color=blue",
            array: "color=blue%7Cblack%7Cbrown", object: "color=R%7C100%7CG%7C200%7CB%7C150"),
        Row(
            style: .deepObject, explodes: true, empty: "color=", string: "color=blue",
            array: "color=blue&color=black&color=brown", object: "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ]

    @Test(arguments: segments) func pathStylesFollowTheSpecification(_ row: Row) throws {
        let text = ParameterText("color", row.style, explodes: row.explodes, .component)
        #expect(try text.segment(Self.empty) == row.empty)
        #expect(try text.segment(Self.string) == row.string)
        #expect(try text.segment(Self.array) == row.array)
        #expect(try text.segment(Self.object) == row.object)
    }

    @Test(arguments: items) func queryStylesFollowTheSpecification(_ row: Row) throws {
        let text = ParameterText("color", row.style, explodes: row.explodes, .component)
        #expect(try text.items(Self.empty).joined(separator: "&") == row.empty)
        #expect(try text.items(Self.string).joined(separator: "&") == row.string)
        #expect(try text.items(Self.array).joined(separator: "&") == row.array)
        #expect(try text.items(Self.object).joined(separator: "&") == row.object)
    }

    @Test func delimitersInValuesAreEncoded() throws {
        let list = JSONValue.array([.string("a,b"), .string("c d"), .string("e|f"), .string("g&h=i")])
        #expect(
            try ParameterText("q", .form, explodes: false, .component).items(list)
                == ["q=a%2Cb,c%20d,e%7Cf,g%26h%3Di"])
        #expect(try ParameterText("id", .simple, explodes: false, .component).segment(.string("a/b;c")) == "a%2Fb%3Bc")
        #expect(
            try ParameterText("id", .matrix, explodes: true, .component).segment(.array([.string("a;b=c")]))
                == ";id=a%3Bb%3Dc")
    }

    @Test func emptyListsAndObjectsAreOmitted() throws {
        for style in [ParameterStyle.form, .spaceDelimited, .pipeDelimited, .deepObject] {
            let text = ParameterText("q", style, explodes: false, .component)
            #expect(try text.items(.array([])) == [])
            #expect(try text.items(.object([])) == [])
        }
        for style in [ParameterStyle.simple, .label, .matrix] {
            #expect(try ParameterText("q", style, explodes: false, .component).segment(.array([])) == "")
        }
    }

    @Test func nullMembersAreOmitted() throws {
        let text = ParameterText("q", .form, explodes: false, .component)
        #expect(try text.items(.array([.integer(1), .null, .integer(2)])) == ["q=1,2"])
        #expect(try text.items(.object([.init("a", .null), .init("b", .bool(true))])) == ["q=b,true"])
    }

    @Test func nestedValuesAreJSON() throws {
        let text = ParameterText("q", .form, explodes: true, .component)
        let nested = JSONValue.array([.object([.init("a", .integer(1))])])
        #expect(try text.items(nested) == ["q=%7B%22a%22%3A1%7D"])
    }

    @Test func deepObjectsUseBrackets() throws {
        let text = ParameterText("filter", .deepObject, explodes: true, .component)
        let filter = JSONValue.object([
            .init("created", .object([.init("gte", .integer(5)), .init("lt", .null)])),
            .init("tags", .array([.string("a"), .string("b")])),
        ])
        #expect(
            try text.items(filter) == [
                "filter%5Bcreated%5D%5Bgte%5D=5", "filter%5Btags%5D=a", "filter%5Btags%5D=b",
            ])
    }

    @Test func deeplyNestedObjectsBecomeJSON() throws {
        var value = JSONValue.integer(1)
        for _ in 0..<1000 { value = .object([.init("a", value)]) }
        let items = try ParameterText("q", .deepObject, explodes: true, .component).items(value)
        #expect(items.count == 1)
        #expect(items[0].hasPrefix("q%5Ba%5D%5Ba%5D"))
        #expect(items[0].contains("=%7B%22a%22"))
    }

    @Test func integralNumbersHaveNoFraction() throws {
        let text = ParameterText("n", .form, explodes: true, .component)
        #expect(try text.items(.number(42)) == ["n=42"])
        #expect(try text.items(.number(-0.5)) == ["n=-0.5"])
        #expect(try text.items(.number(1e300)) == ["n=1e%2B300"])
        #expect(try text.items(.unsigned(UInt64.max)) == ["n=18446744073709551615"])
        #expect(throws: NightjarError.self) { try text.items(.number(.infinity)) }
    }

    @Test func allowReservedPreservesReservedCharacters() throws {
        let text = ParameterText("q", .form, explodes: false, .reserved)
        #expect(try text.items(.string("/a?b:c@d!$'()*,;=e%20f g%")) == ["q=/a?b:c@d!$'()*,;=e%20f%20g%25"])
        #expect(try text.items(.string("a#b&c+d[e]")) == ["q=a%23b%26c%2Bd%5Be%5D"])
    }
}
