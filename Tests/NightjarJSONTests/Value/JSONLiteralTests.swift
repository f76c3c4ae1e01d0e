import NightjarJSON
import Testing

private enum Order: String, ParameterValue { case newest, oldest }

/// Literals of JSON with variables.
@Suite struct JSONLiteralTests {
    private let id = 7
    private let title = "Owls"
    private let ratio = 0.5
    private let absent: Int? = nil
    private let present: String? = "x"

    private func text(_ value: JSONValue) throws -> String { String(buffer: try value.encoded()) }

    @Test func variablesOfAllTypesAreElements() throws {
        let (small, large, half): (Int8, UInt64, Float) = (-1, .max, 0.1)
        let letter: Character = "c"
        let value: JSONValue = [
            "id": id, "title": title, "part": title.prefix(2), "draft": true, "ratio": ratio, "small": small,
            "large": large,
            "half": half, "letter": letter, "order": Order.newest, "since": Timestamp.epoch,
        ]
        #expect(
            try text(value)
                == #"{"id":7,"title":"Owls","part":"Ow","draft":true,"ratio":0.5,"small":-1,"large":18446744073709551615,"#
                + #""half":0.1,"letter":"c","order":"newest","since":"1970-01-01T00:00:00Z"}"#)
        #expect(try text([id, title, [ratio, nil], id + 1]) == #"[7,"Owls",[0.5,null],8]"#)
    }

    @Test func nilIsNull() throws {
        let value: JSONValue = [
            "a": absent, "b": present, "c": nil, "d": .null, "e": [absent, nil],
        ]
        #expect(try text(value) == #"{"a":null,"b":"x","c":null,"d":null,"e":[null,null]}"#)
    }

    @Test func nestedLiteralsMixTypesAndKeepTheirOrder() throws {
        let value: JSONValue = [
            "z": ["b": 1, "a": 2, "c": id, "a2": ["y": title, "x": [1, "two", 3.5, ["k": id, "j": nil]]]], "y": [:],
            "x": [],
        ]
        #expect(
            try text(value)
                == #"{"z":{"b":1,"a":2,"c":7,"a2":{"y":"Owls","x":[1,"two",3.5,{"k":7,"j":null}]}},"y":{},"x":[]}"#)
        #expect(try text(["a": 1, "a": 2, "b": ["c": 1, "c": 2]]) == #"{"a":1,"a":2,"b":{"c":1,"c":2}}"#)
    }

    @Test func casesAreElements() throws {
        let titles = ["a", "b"]
        let value: JSONValue = [
            "a": .string(title), "b": .integer(3), "c": .number(1.5), "d": .bool(false), "e": .unsigned(4),
            "f": .array(titles.map { .string($0) }), "g": .object([.init("k", .null)]), "h": JSONValue.null,
            "i": ["x": .string("y"), "z": 1], "j": titles.isEmpty ? .null : .string("k"),
        ]
        #expect(
            try text(value)
                == #"{"a":"Owls","b":3,"c":1.5,"d":false,"e":4,"f":["a","b"],"g":{"k":null},"h":null,"i":{"x":"y","z":1},"j":"k"}"#
        )
    }

    @Test func collectionsAreElements() throws {
        let (tags, counts): ([String], [String: Int]) = (["b", "a"], ["y": 2, "x": 1, "é": 3])
        let values: [String: JSONValue] = ["n": .null, "m": [1, "2"]]
        let value: JSONValue = ["tags": tags, "counts": counts, "values": values, "json": value(of: tags)]
        #expect(
            try text(value)
                == #"{"tags":["b","a"],"counts":{"x":1,"y":2,"é":3},"values":{"m":[1,"2"],"n":null},"json":["b","a"]}"#)
    }

    private func value(of tags: [String]) -> JSONValue { JSONValue(tags) }

    @Test func valuesAreCreatedFromVariables() throws {
        #expect(JSONValue(id) == 7 && JSONValue(title) == "Owls" && JSONValue(absent) == .null)
        #expect(JSONValue(present) == .string("x") && JSONValue(Order.oldest) == "oldest")
        #expect(try text(JSONValue(["id": id, "title": title])) == #"{"id":7,"title":"Owls"}"#)
        #expect([1, 2].map { JSONValue($0) } == [.integer(1), .integer(2)])
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity]) func numbersWithoutJSONFailWhenTheyAreEncoded(number: Double)
    {
        let value: JSONValue = ["a": [number]]
        let error = #expect(throws: NightjarError.self) { try value.encoded() }
        #expect(error?.kind == .invalidRequest)
        #expect(throws: NightjarError.self) { try JSONValue(Float(number)).encoded() }
    }

    /// Conformances of `Optional` for literals apply only to elements of JSON.
    @Test func otherOptionalLiteralsKeepTheirTypes() {
        let numbers: [Int]? = [1, 2]
        let texts: [String: Any]? = ["a": 1, "b": "x"]
        let set: Set<Int>? = [1, 1]
        #expect(numbers?.count == 2 && texts?.count == 2 && set?.count == 1)
    }
}
