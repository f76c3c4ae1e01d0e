import NightjarJSON
import NightjarTestSupport
import Testing

@Suite struct JSONPointerTests {
    private static let document = """
        {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\\\j": 5, "k\\"l": 6, " ": 7, "m~n": 8,
         "list": [[10, 11], {"x": {"y": null}}], "0": "zero", "caf\u{E9}": 9, "twice": 1, "twice": 2, "~1": 12}
        """

    /// The document and the pointers of RFC 6901 section 5, and further ones.
    @Test(arguments: [
        ("/foo", #"["bar", "baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"),
        ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
        ("/list/0/1", "11"), ("/list/1/x", #"{"y": null}"#), ("/list/1/x/y", "null"), ("/0", #""zero""#),
        ("/caf\u{E9}", "9"), ("/twice", "1"), ("/~01", "12"),
    ])
    func pointsTo(_ pointer: String, _ value: String) throws {
        let document = try JSONValue(parsing: JSONPointerTests.document)
        #expect(try JSONPointer(pointer).value(in: document) == JSONValue(parsing: value))
        #expect(try JSONPointer(pointer).description == pointer)
    }

    @Test func theEmptyPointerIsTheWhole() throws {
        let document = try JSONValue(parsing: JSONPointerTests.document)
        #expect(try JSONPointer("").value(in: document) == document)
        #expect(try JSONPointer("").description == "")
        #expect(try JSONPointer("").value(in: .integer(1)) == .integer(1))
    }

    @Test(arguments: [
        "/nothing", "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/-1", "/foo/+1", "/foo/ 1", "/foo/1x", "/foo/",
        "/foo/99999999999999999999", "/foo/\u{661}", "/foo/0/0", "//", "/list/0/0/", "/list/1/x/y/z", "/cafe\u{301}",
        "/Foo",
    ])
    func pointsToNothing(_ pointer: String) throws {
        let document = try JSONValue(parsing: JSONPointerTests.document)
        #expect(try JSONPointer(pointer).value(in: document) == nil)
    }

    @Test(arguments: [
        ("foo", "the JSON Pointer \"foo\" must be empty or begin with /, as in \"/items/0\""),
        ("#/foo", "the JSON Pointer \"#/foo\" must be empty or begin with /, as in \"/items/0\""),
        (
            "/a~2b",
            "the JSON Pointer \"/a~2b\" has a ~ that is not followed by 0 or 1; write ~ as ~0 and / as ~1"
        ),
        ("/a~", "the JSON Pointer \"/a~\" has a ~ that is not followed by 0 or 1; write ~ as ~0 and / as ~1"),
        ("/~/0", "the JSON Pointer \"/~/0\" has a ~ that is not followed by 0 or 1; write ~ as ~0 and / as ~1"),
    ])
    func whatIsNoneIsRefused(_ pointer: String, _ message: String) {
        let error = #expect(throws: NightjarError.self) { try JSONPointer(pointer) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == message)
    }

    @Test func randomTextIsReadBackOrRefused() throws {
        var random = SeededRandom(seed: 6901)
        let document = try JSONValue(parsing: JSONPointerTests.document)
        let alphabet = Array("/~01a-\u{E9}\0".unicodeScalars)
        for _ in 0..<5000 {
            var text = ""
            for _ in 0..<Int.random(in: 0..<10, using: &random) {
                text.unicodeScalars.append(alphabet[Int.random(in: 0..<alphabet.count, using: &random)])
            }
            guard let pointer = try? JSONPointer(text) else {
                #expect(!text.hasPrefix("/") || text.contains("~"), "\(text)")
                continue
            }
            #expect(pointer.description == text)
            _ = pointer.value(in: document)
        }
        #expect(JSONPointer().appending("a/b").appending("~").description == "/a~1b/~0")
    }
}
