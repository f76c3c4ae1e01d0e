import NightjarHTTP
import Testing

@testable import NightjarAPI

@Suite struct DocumentTreeTests {
    static let text = """
        {"a": [1, -2, 18446744073709551615, 1.5, 1e300, true, false, null, "x\\n\\u00e9"],
          "b": {"c": {}, "d": [], "e/f": {"~": [10, [20]]}}, "": 0}
        """

    @Test func jsonIsReadUnchanged() throws {
        #expect(try json(Self.text, "api.json") == JSONValue(parsing: Self.text))
        #expect(try json("\u{FEFF}[]", "api.json") == .array([]))
    }

    @Test func yamlReaderReadsJSON() throws {
        let yaml = try Array(Self.text.utf8).withUnsafeBytes { bytes in
            Result { () throws(NightjarError) in try DocumentTree.yaml(bytes, name: "x") }
        }.get()
        #expect(try yaml.root.json() == JSONValue(parsing: Self.text))
    }

    @Test(arguments: [
        ("", true), ("/a/0", true), ("/a/8", true), ("/a/9", false), ("/a/01", false), ("/a/-", false),
        ("/b/e~1f/~0/1/0", true), ("/", true), ("/b/c", true), ("/b/x", false), ("/a/0/x", false),
    ])
    func pointersResolveToTheirNodes(text: String, isThere: Bool) throws {
        let pointer = try JSONPointer(text)
        let value = try tree(Self.text).root.value(at: pointer)
        #expect((value != nil) == isThere)
        #expect(value == nil || value?.pointer == pointer)
        #expect(try value?.json() == pointer.value(in: JSONValue(parsing: Self.text)))
    }

    @Test func positionsInJSONAreFound() throws {
        let value = try tree(Self.text, "api.json").root
        #expect(value.position == "line 1 column 1")
        #expect(value["a"]?.position == "line 1 column 7")
        #expect(value["a"]?.elements.map(\.position).last == "line 1 column 68")
        #expect(value["b"]?["e/f"]?["~"]?.position == "line 2 column 40")
        #expect(value[""]?.position == "line 2 column 58")
    }

    @Test func repeatedNamesInJSONAreRejected() {
        #expect(
            message { _ = try tree("{\"a\": 1,\n \"b\": {\"x\": [], \"x\": 2}}", "api.json") }
                == "api.json line 2 column 17: the key \"x\" is defined twice, first on line 2; remove one")
    }

    @Test func invalidJSONIsReportedWithItsPosition() {
        #expect(
            message { _ = try tree("{\"a\": 1,\n \"b\" 2}", "api.json") }
                == "api.json line 2 column 6: not JSON: expected ':' after the name")
    }

    @Test func flowYAMLIsRead() throws {
        #expect(try json("{a: 1}") == .object([.init("a", .integer(1))]))
    }

    @Test func truncatedDocumentsAreReadOrRejected() {
        let yaml = """
            a: &x {b: "c\\u00e9", <<: {d: 0x1}}
            e: |
              text
            ? f
            : [*x, !!int 3, 'it''s', -1.5e3]
            """
        for text in [Self.text, yaml] {
            let bytes = Array(text.utf8)
            for end in 0...bytes.count {
                for name in ["x.json", "x.yaml"] {
                    _ = Array(bytes[..<end]).withUnsafeBytes { bytes in
                        Result { () throws(NightjarError) in
                            try DocumentTree.reading(bytes, name: name).root.json()
                        }
                    }
                }
            }
        }
    }

    @Test func mergedMembersHavePositions() throws {
        let value = try tree("a:\n  b: 1\n  <<: {c: {d: 2}}\n").root
        let inner = try #require(value["a"]?["c"])
        #expect(inner.pointer.description == "/a/<</c")
        #expect(try value.value(at: inner.pointer)?.json() == .object([.init("d", .integer(2))]))
    }

    @Test func elementsOfLongArraysAreFound() throws {
        let text = "[\((0..<500).map { "[\($0)]" }.joined(separator: ","))]"
        let value = try tree(text).root
        #expect(value.value(at: try JSONPointer("/499/0"))?.text == "499")
        #expect(value.value(at: try JSONPointer("/500")) == nil)
        #expect(value.elements.map { $0.pointer.description }.last == "/499")
    }

    /// The cost of finding the path to a value does not depend on the number of its siblings.
    @Test func positionLookupIsFast() throws {
        let members = (0..<20_000).map { "\"k\($0)\":{\"a\":[\($0),{}]}" }.joined(separator: ",")
        let elements = (0..<20_000).map { "{\"\($0)\":0}" }.joined(separator: ",")
        let tree = try tree("{\"o\":{\(members)},\"l\":[\(elements)]}", "api.json")
        var looks = 0
        for (key, value) in try #require(tree.root["o"]).members {
            let inner = try #require(value["a"]?.element(1))
            #expect(tree.path(to: inner.index, &looks) == ["o", "k" + tree.root.name(key).dropFirst(), "a", "1"])
        }
        for (number, value) in try #require(tree.root["l"]).elements.enumerated() {
            let inner = try #require(value["\(number)"])
            #expect(tree.path(to: inner.index, &looks) == ["l", "\(number)", "\(number)"])
        }
        // The cost is logarithmic in the number of containers. Counting siblings would visit 800 million nodes.
        #expect(looks < 40_000 * 50)
    }

    @Test func deepNodeIsFound() throws {
        let depth = DocumentTree.maximumDepth - 1
        let text =
            String(repeating: "{\"a\":[],\"b\":[", count: depth / 2) + "1" + String(repeating: "]}", count: depth / 2)
        let tree = try tree(text, "api.json")
        let index = UInt32(tree.nodes.count - 1)
        var looks = 0
        let path = tree.path(to: index, &looks)
        #expect(path == (0..<depth / 2).flatMap { _ in ["b", "0"] })
        #expect(TreeNode(tree, 0).value(at: JSONPointer(tokens: path))?.text == "1")
        #expect(looks < 4 * depth)
    }

    @Test func versionNumbersKeepTheirText() throws {
        #expect(try tree("version: 1.10").root["version"]?.text == "1.10")
    }
}
