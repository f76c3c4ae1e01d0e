import NightjarJSON
import NightjarTestSupport
import Testing

/// JSON Pointers. Each row names its section of RFC 6901.
@Suite struct RFC6901Tests {
    enum Expected: Sendable, Equatable {
        /// The value at the pointer, as JSON text.
        case value(String)
        case nothing
        case invalid(String)
    }

    typealias Row = RFCRow<String, Expected>

    static let document = """
        {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\\\j": 5, "k\\"l": 6, " ": 7, "m~n": 8,
         "list": [[10, 11], {"x": {"y": null}}], "0": "zero", "caf\u{E9}": 9, "twice": 1, "twice": 2, "~1": 12}
        """

    @Test(arguments: rows)
    func rowHolds(_ row: Row) throws {
        let document = try JSONValue(parsing: RFC6901Tests.document)
        switch (Result { () throws(NightjarError) in try JSONPointer(row.input) }) {
        case .success(let pointer):
            let value = pointer.value(in: document)
            if case .value(let text) = row.expected {
                #expect(try value == JSONValue(parsing: text))
            } else {
                #expect(row.expected == .nothing && value == nil)
            }
            #expect(pointer.description == row.input)
        case .failure(let error):
            #expect(error.kind == .invalidArgument)
            #expect(.invalid(error.message) == row.expected)
        }
    }

    private static func leads(_ section: String, _ claim: String, _ cases: [(String, String)]) -> [Row] {
        Row.rows(section, claim, cases.map { ($0.0, .value($0.1)) })
    }

    private static func nothing(_ section: String, _ claim: String, _ pointers: [String]) -> [Row] {
        pointers.map { Row(section, claim, $0, .nothing) }
    }

    private static func invalid(_ section: String, _ claim: String, _ reason: String, _ pointers: [String]) -> [Row] {
        pointers.map { Row(section, claim, $0, .invalid("the JSON Pointer \"\($0)\" " + reason)) }
    }

    static let rows: [Row] = groups.flatMap { $0 }

    private static let groups: [[Row]] = [
        leads(
            "5", "example",
            [
                ("", document), ("/foo", #"["bar", "baz"]"#), ("/foo/0", #""bar""#), ("/", "0"), ("/a~1b", "1"),
                ("/c%d", "2"), ("/e^f", "3"), ("/g|h", "4"), ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"),
                ("/m~0n", "8"),
            ]),
        leads(
            "4", "tokens select members and elements",
            [
                ("/list/0/1", "11"), ("/list/1/x", #"{"y": null}"#), ("/list/1/x/y", "null"), ("/0", #""zero""#),
                ("/caf\u{E9}", "9"),
            ]),
        leads("4", "the first of members with the same name is selected", [("/twice", "1")]),
        leads("4", "~01 is ~1 and not a slash", [("/~01", "12")]),
        nothing(
            "4", "an index has no leading zero, sign or other character",
            [
                "/foo/00", "/foo/01", "/foo/-1", "/foo/+1", "/foo/ 1", "/foo/1x", "/foo/", "/foo/\u{661}",
                "/foo/99999999999999999999",
            ]),
        nothing("4", "- is the element after the last, which does not exist", ["/foo/-"]),
        nothing(
            "7", "a value that does not exist is not found",
            ["/nothing", "/foo/2", "/foo/0/0", "//", "/list/0/0/", "/list/1/x/y/z"]),
        nothing("4", "names are compared by code points", ["/cafe\u{301}", "/Foo"]),
        invalid(
            "3", "a pointer is empty or begins with /",
            "must be empty or begin with /, as in \"/items/0\"", ["foo", "#/foo", " /foo"]),
        invalid(
            "3", "~ is followed by 0 or 1",
            "has a ~ that is not followed by 0 or 1; write ~ as ~0 and / as ~1", ["/a~2b", "/a~", "/~/0", "/~~0"]),
    ]
}
