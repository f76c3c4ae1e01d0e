import NIOCore
import Testing

@testable import NightjarHTTP

private enum Order: String, ParameterValue { case newest, oldest }

private struct UserID: LosslessStringConvertible, ParameterValue {
    var description: String

    init(_ text: String) { description = text }
}

@Suite struct RequestItemsTests {
    private func target(_ request: Request) throws -> String {
        let template = try RequestTemplate(base: RequestURL("http://h/v1"), defaults: Headers(), userAgent: nil)
        return try PreparedRequest(request, template).url.target
    }

    private func request(_ query: RequestItems) -> Request { Request(.get, "/a", query: query) }

    @Test func valuesOfAnyTypeAreWritten() throws {
        let (page, term, ratio, isDraft): (Int, String, Double, Bool) = (2, "a b", 0.5, false)
        #expect(
            try target(request(["page": page, "q": term, "ratio": ratio, "draft": isDraft, "order": Order.newest]))
                == "/v1/a?page=2&q=a%20b&ratio=0.5&draft=false&order=newest")
        #expect(
            try target(request(["a": 1.0, "b": Float(0.1), "c": UInt64.max, "d": Int8(-1), "e": "x"[...]]))
                == "/v1/a?a=1&b=0.1&c=18446744073709551615&d=-1&e=x")
    }

    @Test func nilAndNullLeaveAnItemOut() throws {
        let (absent, present): (Int?, Int?) = (nil, 3)
        #expect(try target(request(["a": absent, "b": present, "c": nil, "d": JSONValue.null])) == "/v1/a?b=3")
    }

    @Test func arraysRepeatTheNameAndObjectsAreJSON() throws {
        #expect(try target(request(["tag": ["x", "y"], "n": [1, 2]])) == "/v1/a?tag=x&tag=y&n=1&n=2")
        #expect(request(["o": ["k": 1] as JSONValue]).query.map(\.value) == [#"{"k":1}"#])
        #expect(request(["none": [String]()]).query.isEmpty)
        #expect(request(["a": [1, .null, "b"] as JSONValue]).query.map(\.value) == ["1", "b"])
    }

    @Test func literalsMayMixTypes() throws {
        let (letter, absent): (Character, String?) = ("c", nil)
        #expect(try target(request(["letter": letter, "n": [1, "b", absent, nil]])) == "/v1/a?letter=c&n=1&n=b")
        #expect(
            request(["o": ["k": 1, "j": "x"], "p": ["b": 2, "a": 1] as [String: Int]]).query.map(\.value)
                == [#"{"k":1,"j":"x"}"#, #"{"a":1,"b":2}"#])
    }

    @Test func numbersWithoutJSONAreWrittenAsInSwift() {
        #expect(request(["a": Double.nan, "b": -Double.infinity]).query.map(\.value) == ["nan", "-inf"])
    }

    @Test func timestampsAreISO8601() {
        #expect(request(["since": Timestamp.epoch]).query.map(\.value) == ["1970-01-01T00:00:00Z"])
    }

    @Test func parametersFillTheTemplate() throws {
        #expect(try target(Request(.get, "/users/{id}/files", ["id": UserID("a/b")])) == "/v1/users/a%2Fb/files")
        #expect(try target(Request(.get, "/users/{id}", ["id": 7], query: ["page": 2])) == "/v1/users/7?page=2")
        let absent: Int? = nil
        let error = #expect(throws: NightjarError.self) {
            try target(Request(.get, "/users/{id}/{x}", ["id": absent, "x": 1]))
        }
        #expect(error?.message == #"the URL template's variable "id" has no value; add a value"#)
    }

    @Test func itemsAreACollection() {
        var items: RequestItems = [("a", "1"), ("b", "2"), ("a", "3")]
        #expect(items.count == 3 && items[1].value == "2")
        items["a"] = 4
        #expect(items.map { "\($0.name)=\($0.value)" } == ["b=2", "a=4"])
        #expect(items["b"] as? String == "2" && items["c"] == nil)
        items["b"] = nil
        items.append((name: "c", value: "x"))
        items.append("d", ["y", "z"])
        items += [("e", "w")]
        #expect(items.map { "\($0.name)=\($0.value)" } == ["a=4", "c=x", "d=y", "d=z", "e=w"])
        items.removeAll { $0.name == "d" }
        items[0].value = "5"
        #expect(items.map(\.value) == ["5", "x", "w"])
    }

    /// Names are compared by their bytes.
    @Test func canonicallyEquivalentNamesAreDistinct() {
        var items: RequestItems = ["\u{e9}": 1]
        items["e\u{301}"] = 2
        #expect(items.count == 2)
    }

    @Test func statusesAreRangesOrNumbers() {
        var request = Request(.get, "/a")
        request.expect(200..<300, 404, 500...599, StatusRange(600, 601))
        #expect(
            request.expectedStatuses == [
                StatusRange(200, 299), StatusRange(404), StatusRange(500, 599), StatusRange(600, 601),
            ])
        request.expectedStatuses = [204, StatusRange(300..<300), StatusRange(Int.min..<Int.min)]
        #expect(request.expectedStatuses.map { $0.contains(300) } == [false, false, false])
        #expect(request.expectedStatuses[0] == StatusRange(204))
    }
}
