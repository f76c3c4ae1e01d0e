import NightjarJSON
import Testing

@Suite struct JSONAccessTests {
    private let document: JSONValue = [
        "results": [["id": 7, "ratio": 2.5, "tags": ["a"], "ok": true, "none": .null], ["id": 3.0]], "a/b": ["~": 1],
    ]

    @Test func subscriptsSelectMembersAndElements() {
        #expect(document["results"]?[0]?["id"]?.int == 7)
        #expect(document["results"]?[2] == nil && document["results"]?[-1] == nil && document[0] == nil)
        #expect(document[at: "/results/1/id"] == 3.0)
        #expect(document[at: "/a~1b/~0"]?.int == 1)
        #expect(document[at: ""] == document)
        #expect(document[at: "results"] == nil && document[at: "/none"] == nil)
        #expect(document[at: JSONPointer(tokens: ["results", "0", "ok"])]?.bool == true)
    }

    @Test func valuesHaveTheTypeOfTheJSON() throws {
        let first = try #require(document[at: "/results/0"])
        #expect(first["tags"]?.array == ["a"] && first["tags"]?[0]?.string == "a")
        #expect(first["none"]?.isNull == true && first["id"]?.isNull == false)
        #expect(first["ratio"]?.double == 2.5 && first["ratio"]?.int == nil)
        #expect(first.object?.map(\.name) == ["id", "ratio", "tags", "ok", "none"])
        // Nothing is converted.
        #expect(first["id"]?.string == nil && first["id"]?.bool == nil && first["tags"]?.object == nil)
        #expect((JSONValue.string("7")).int == nil && JSONValue.bool(true).int == nil && JSONValue.null.string == nil)
    }

    @Test func numbersAreExact() {
        #expect(JSONValue.number(3).int == 3 && JSONValue.number(3.5).int == nil && JSONValue.number(.nan).int == nil)
        #expect(JSONValue.unsigned(.max).int == nil && JSONValue.unsigned(.max).double == 0x1p64)
        #expect(JSONValue.number(0x1p60).int == nil && JSONValue.integer(1 << 60).int == 1 << 60)
        #expect(JSONValue.integer(2).double == 2 && JSONValue.number(.infinity).double == nil)
    }

    @Test func descriptionIsTheText() {
        #expect("\(["b": [1, 2.5, .null, true], "a": "x\"\n"] as JSONValue)" == #"{"b":[1,2.5,null,true],"a":"x\"\n"}"#)
        #expect("\([.number(.nan), .number(.infinity)] as JSONValue)" == "[nan,inf]")
    }

    @Test func decodingTakesTheTextOfAPointer() throws {
        #expect(try document.decode(Int.self, at: "/results/0/id") == 7)
        let error = #expect(throws: NightjarError.self) { try document.decode(Int.self, at: "results") }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == #"the JSON Pointer "results" must be empty or begin with /, as in "/items/0""#)
    }
}
