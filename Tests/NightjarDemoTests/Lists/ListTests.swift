import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// Paginated lists in every style.
@Suite struct ListTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    // MARK: Styles

    @Test func listIsPagedByNumber() throws {
        let first = try demo.fetch("/v1/lists/a/page?count=250").json
        #expect(try ids(first, "results") == upTo(100))
        #expect(first["page"] as? Int == 1)
        #expect(first["per_page"] as? Int == 100)
        #expect(first["total"] as? Int == 250)
        #expect(first["total_pages"] as? Int == 3)
        #expect(try ids(demo.fetch("/v1/lists/a/page?page=3").json, "results") == upTo(250, from: 201))
        #expect(try ids(demo.fetch("/v1/lists/a/page?page=4").json, "results").isEmpty)
        #expect(try ids(demo.fetch("/v1/lists/a/page?page=26&per_page=10").json, "results").isEmpty)
        let zero = try demo.fetch("/v1/lists/a/page?page=0&first=0&per_page=2&total=absent").json
        #expect(try ids(zero, "results") == upTo(2))
        #expect(Set(zero.keys) == ["results", "page", "per_page"])
    }

    @Test func listIsPagedByOffset() throws {
        let page = try demo.fetch("/v1/lists/a/offset?count=25&offset=20&limit=10").json
        #expect(try ids(page, "items") == upTo(25, from: 21))
        #expect(page["offset"] as? Int == 20)
        #expect(page["limit"] as? Int == 10)
        #expect(page["total"] as? Int == 25)
        #expect(try ids(demo.fetch("/v1/lists/a/offset?offset=9999999").json, "items").isEmpty)
    }

    @Test func listIsPagedByCursor() throws {
        let first = try demo.fetch("/v1/lists/a/cursor?count=15&limit=10").json
        #expect(try ids(first, "results") == upTo(10))
        let cursor = try #require(first["next_cursor"] as? String)
        let last = try demo.fetch("/v1/lists/a/cursor?limit=10&cursor=\(encode(cursor))").json
        #expect(try ids(last, "results") == upTo(15, from: 11))
        #expect(last["next_cursor"] is NSNull)
        let path = "/v1/lists/a/cursor?limit=15"
        #expect(try demo.fetch("\(path)&end=empty").json["next_cursor"] as? String == "")
        #expect(try demo.fetch("\(path)&end=absent").json["next_cursor"] == nil)
        #expect(try demo.fetch("/v1/lists/a/cursor?cursor=x").status == 400)
        #expect(try demo.fetch("/v1/lists/a/cursor?cursor=").status == 400)
    }

    @Test func cursorMustBeEncoded() throws {
        // Some cursors contain '+', which means a space in a query unless it is encoded.
        let cursors = try (1...15).map { number in
            let page = try demo.fetch("/v1/lists/a/cursor?limit=\(number)").json
            return try #require(page["next_cursor"] as? String)
        }
        let cursor = try #require(cursors.first { $0.contains("+") })
        #expect(try demo.fetch("/v1/lists/a/cursor?cursor=\(cursor)").status == 400)
        #expect(try demo.fetch("/v1/lists/a/cursor?cursor=\(encode(cursor))").status == 200)
    }

    @Test func listIsPagedAfterAnItem() throws {
        let first = try demo.fetch("/v1/lists/a/after?count=15&limit=10").json
        #expect(try ids(first, "data") == upTo(10))
        #expect(first["has_more"] as? Bool == true)
        let last = try demo.fetch("/v1/lists/a/after?limit=10&starting_after=10000").json
        #expect(try ids(last, "data") == upTo(15, from: 11))
        #expect(last["has_more"] as? Bool == false)
    }

    @Test func listIsPagedByLink() throws {
        let first = try demo.fetch("/v1/lists/a/link?count=15&limit=10")
        #expect(try bareIDs(first) == upTo(10))
        let link = try #require(first["Link"])
        let url = "/v1/lists/a/link?count=15&limit=10"
        #expect(link.hasPrefix("<\(url)&cursor="))
        #expect(
            link.hasSuffix(
                ">; rel=\"next\", <\(url)>; rel=\"first start\"; title=\"one, two; <three>; rel=next\""))
        let last = try demo.fetch(try #require(target(first)))
        #expect(try bareIDs(last) == upTo(15, from: 11))
        #expect(last["Link"]?.hasPrefix("<\(url)>; rel=\"first start\"") == true)
        let absolute = try demo.fetch("/v1/lists/a/link?limit=10&links=absolute")
        #expect(absolute["Link"]?.hasPrefix("<http://127.0.0.1:\(demo.port)/v1/lists/a/link?limit=10&") == true)
        let foreign = try demo.fetch("/v1/lists/a/link?limit=10&foreign=http://127.0.0.1:9")
        #expect(foreign["Link"]?.hasPrefix("<http://127.0.0.1:9/v1/lists/a/link?limit=10&") == true)
        #expect(try demo.fetch("/v1/lists/a/link?foreign=http://x/%3E").status == 400)
    }

    @Test func listIsPagedByURLInTheBody() throws {
        let first = try demo.fetch("/v1/lists/a/next?count=15&limit=10&links=query").json
        #expect(try ids(first, "value") == upTo(10))
        let next = try #require(first["next"] as? String)
        #expect(next.hasPrefix("?count=15&limit=10&links=query&cursor="))
        let last = try demo.fetch("/v1/lists/a/next\(next)").json
        #expect(try ids(last, "value") == upTo(15, from: 11))
        #expect(last["next"] is NSNull)
    }

    @Test func listIsPagedByTokenInAField() throws {
        let first = try demo.fetch("/v1/lists/a/token?count=15&limit=10")
        #expect(try ids(first.json, "items") == upTo(10))
        let token = try #require(first["X-Next-Token"])
        let last = try demo.fetch("/v1/lists/a/token?limit=10", "X-Token: \(token)\r\n")
        #expect(try ids(last.json, "items") == upTo(15, from: 11))
        #expect(last["X-Next-Token"] == nil)
        let query = try demo.fetch("/v1/lists/a/token?limit=10&end=empty&token=\(encode(token))")
        #expect(query.body == last.body)
        #expect(query["X-Next-Token"] == "")
    }

    @Test func shapesDiffer() throws {
        let page = try demo.fetch("/v1/lists/a/cursor?limit=1&shape=page.rows&next_at=page.meta.next").json
        let inner = try #require(page["page"] as? [String: Any])
        #expect(try ids(inner, "rows") == [1000])
        #expect((inner["meta"] as? [String: Any])?["next"] is String)
        #expect(page["next_cursor"] == nil)
        #expect(try demo.fetch("/v1/lists/a/cursor?shape=a..b").status == 400)
    }

    // MARK: Order and changes

    @Test func newestItemsAreFirst() throws {
        #expect(try ids(demo.fetch("/v1/lists/a/offset?count=5&order=newest&limit=2").json, "items") == [5000, 4000])
        let last = try demo.fetch("/v1/lists/a/after?order=newest&limit=2&starting_after=2000").json
        #expect(try ids(last, "data") == [1000])
        #expect(last["has_more"] as? Bool == false)
    }

    @Test(arguments: ["cursor", "after", "link", "next", "token"], ["insert", "delete", "both", "both&order=newest"])
    func remainingItemsAreReturnedOnce(style: String, changes: String) throws {
        let returned = try traversal("/v1/lists/a/\(style)?count=300&limit=7&changes=\(changes)", style)
        let survivors = try survivors("a")
        #expect(Set(returned).count == returned.count)
        #expect(Set(returned).isSuperset(of: survivors.ids))
        #expect(Set(returned).isSubset(of: Set(upTo(300)).union(survivors.inserted)))
        #expect(survivors.deleted.isEmpty == (changes == "insert"))
        #expect(survivors.inserted.isEmpty == (changes == "delete"))
    }

    @Test func offsetRepeatsItemsAfterInsertionsAtTheFront() throws {
        var returned: [Int] = []
        for offset in stride(from: 0, to: 100, by: 10) {
            let path = "/v1/lists/a/offset?count=100&limit=10&order=newest&changes=insert&offset=\(offset)"
            returned += try ids(demo.fetch(path).json, "items")
        }
        #expect(returned.count == 100)
        // Nine insertions moved nine items to the following page.
        #expect(Set(returned).count == 91)
    }

    @Test func sameSetChangesDeterministically() throws {
        let path = "/v1/lists/a/link?count=100&limit=5&changes=both"
        let first = try traversal(path, "link")
        #expect(try demo.fetch("/v1/lists/a", method: "DELETE").status == 204)
        #expect(try traversal(path, "link") == first)
    }

    @Test func millionItemsAreServed() throws {
        let path = "/v1/lists/a/cursor?count=1000000&limit=1000"
        #expect(try ids(demo.fetch(path).json, "results").count == 1000)
        let last = try demo.fetch("/v1/lists/a/offset?offset=999990&limit=1000").json
        #expect(try ids(last, "items") == upTo(1_000_000, from: 999_991))
        #expect(try demo.fetch("/v1/lists/a/items/1000000000").json["name"] as? String == "Item 1000000")
        #expect(try demo.fetch("/v1/lists/a/items/1").status == 404)
    }

    // MARK: Faults on request

    @Test func everyThirdPageIsEmptyWithACursor() throws {
        let path = "/v1/lists/a/cursor?count=10&limit=2&empty=3"
        var cursor: String?
        var sizes: [Int] = []
        repeat {
            let page = try demo.fetch(path + (cursor.map { "&cursor=\(encode($0))" } ?? "")).json
            sizes.append(try ids(page, "results").count)
            cursor = page["next_cursor"] as? String
        } while cursor != nil
        #expect(sizes == [2, 2, 0, 2, 2, 0, 2])
        #expect(try demo.fetch("/v1/lists/a/page?empty=3").status == 400)
    }

    @Test func brokenServerRepeatsTheFirstPage() throws {
        let first = try demo.fetch("/v1/lists/a/cursor?count=10&limit=2&repeat=1").json
        let cursor = try #require(first["next_cursor"] as? String)
        let second = try demo.fetch("/v1/lists/a/cursor?limit=2&repeat=1&cursor=\(encode(cursor))").json
        #expect(try ids(second, "results") == [1000, 2000])
        #expect(second["next_cursor"] as? String != cursor)
        #expect(try ids(demo.fetch("/v1/lists/a/page?page=2&limit=2&repeat=page").json, "results") == [1000, 2000])
    }

    @Test func cursorMayRepeat() throws {
        var returned: [Int] = []
        var cursor: String?
        repeat {
            let query = "count=10&limit=4&repeat=cursor" + (cursor.map { "&cursor=\($0)" } ?? "")
            let page = try demo.fetch("/v1/lists/a/cursor?\(query)").json
            returned += try ids(page, "results")
            cursor = page["next_cursor"] as? String
            #expect(cursor == nil || cursor == "again")
        } while cursor != nil
        #expect(returned == upTo(10))
    }

    @Test(arguments: ["cursor", "after", "link", "next", "token", "page", "offset"])
    func pageFailsAsOftenAsRequested(style: String) throws {
        let faults = "fail=2&times=2&status=502&retry_after=1&rate=3&delay=1"
        var responses: [CurlResponse] = []
        _ = try traversal("/v1/lists/a/\(style)?count=10&limit=3&\(faults)", style) { responses.append($0) }
        #expect(responses.map(\.status) == [200, 502, 502, 200, 429, 429, 200, 200])
        #expect(responses[1]["Retry-After"] == "1")
        #expect(responses[4]["Retry-After"] == "1")
        let log = try demo.fetch("/v1/lists/a").json
        #expect(log["requests"] as? Int == 8)
        let pages = try #require(log["log"] as? [[String: Any]])
        #expect(pages.map { $0["page"] as? Int } == [1, 2, 2, 2, 3, 3, 3, 4])
        #expect(pages.map { $0["items"] as? Int } == [3, 0, 0, 3, 0, 0, 3, 1])
        #expect((log["last"] as? [String: Any])?["style"] as? String == style)
        #expect(demo.server.statistics.requests["GET /v1/lists/{set}/\(style)"] == 8)
    }

    @Test func pageFailsWithoutAResponse() throws {
        #expect(try demo.curlStatus("/v1/lists/a/page?fail=1&drop=1") == 52)
        #expect(try demo.curlStatus("/v1/lists/a/page?fail=1&drop=1") == 0)
    }

    @Test func responsesAreDelayed() throws {
        let start = ContinuousClock.now
        #expect(try demo.fetch("/v1/lists/a/page?delay=200").status == 200)
        #expect(ContinuousClock.now - start >= .milliseconds(200))
    }

    // MARK: Sets

    @Test func setsAreIndependent() throws {
        #expect(try demo.fetch("/v1/lists/a").status == 404)
        #expect(try demo.fetch("/v1/lists/a/survivors").status == 404)
        _ = try demo.fetch("/v1/lists/a/page?count=3")
        #expect(try demo.fetch("/v1/lists/a/page?count=4").status == 409)
        #expect(try demo.fetch("/v1/lists/b/page?count=0").json["total"] as? Int == 0)
        #expect(try demo.fetch("/v1/lists/a").json["count"] as? Int == 3)
        #expect(try demo.fetch("/v1/lists/a", method: "DELETE").status == 204)
        #expect(try demo.fetch("/v1/lists/a/page?count=4").json["total"] as? Int == 4)
        #expect(try demo.control(#"{"reset":true}"#).status == 200)
        #expect(try demo.fetch("/v1/lists/a").status == 404)
    }

    @Test(arguments: [
        "limit=0", "limit=1001", "per_page=0", "count=-1", "count=1000001", "page=0", "order=size", "changes=all",
        "delay=5001", "empty=1", "repeat=2", "end=never", "links=some", "first=2", "total=some", "fail=0", "fail=a",
        "rate=1,", "times=-1", "status=200", "drop=2", "page=99999999999999999999",
    ])
    func invalidOptionsAreRejected(query: String) throws {
        let response = try demo.fetch("/v1/lists/a/page?\(query)")
        #expect(response.status == 400)
        let errors = try response.json["errors"] as? [[String: Any]]
        #expect(errors?.first?["parameter"] as? String == query.prefix { $0 != "=" }.description)
    }
}

// MARK: Iteration

extension ListTests {
    /// Requests all pages of a list, and repeats the requests that fail.
    ///
    /// - Returns: the identifiers in the order of arrival.
    private func traversal(_ path: String, _ style: String, _ seen: (CurlResponse) -> Void = { _ in }) throws -> [Int] {
        var returned: [Int] = []
        var next = path
        var page = 1
        var field = ""
        for _ in 0..<1000 {
            let response = try demo.fetch(next, field)
            seen(response)
            guard response.status == 200 else { continue }
            page += 1
            let step: [Int]
            switch style {
            case "link":
                step = try bareIDs(response)
                guard let url = target(response) else { return returned + step }
                next = url
            case "after":
                step = try ids(response.json, "data")
                guard try response.json["has_more"] as? Bool == true, let last = step.last else {
                    return returned + step
                }
                next = "\(path)&starting_after=\(last)"
            case "cursor":
                step = try ids(response.json, "results")
                guard let cursor = try response.json["next_cursor"] as? String else { return returned + step }
                next = "\(path)&cursor=\(encode(cursor))"
            case "next":
                step = try ids(response.json, "value")
                guard let url = try response.json["next"] as? String else { return returned + step }
                next = url
            case "token":
                step = try ids(response.json, "items")
                guard let token = response["X-Next-Token"] else { return returned + step }
                field = "X-Token: \(token)\r\n"
            case "page":
                step = try ids(response.json, "results")
                guard try page <= response.json["total_pages"] as? Int ?? 0 else { return returned + step }
                next = "\(path)&page=\(page)"
            default:
                step = try ids(response.json, "items")
                guard try returned.count + step.count < response.json["total"] as? Int ?? 0 else {
                    return returned + step
                }
                next = "\(path)&offset=\(returned.count + step.count)"
            }
            returned += step
        }
        throw ToolFailure(description: "the list does not end")
    }

    private func survivors(_ set: String) throws -> (ids: Set<Int>, deleted: Set<Int>, inserted: Set<Int>) {
        let document = try demo.fetch("/v1/lists/\(set)/survivors").json
        let count = try #require(document["count"] as? Int)
        let deleted = Set(try #require(document["deleted"] as? [Int]))
        let inserted = Set(try #require(document["inserted"] as? [Int]))
        return (Set(upTo(count)).subtracting(deleted), deleted, inserted)
    }

    private func ids(_ document: [String: Any], _ member: String) throws -> [Int] {
        let items = try #require(document[member] as? [[String: Any]])
        return try items.map { try #require($0["id"] as? Int) }
    }

    private func bareIDs(_ response: CurlResponse) throws -> [Int] {
        let items = try JSONSerialization.jsonObject(with: Data(response.body))
        return try ids(["items": items], "items")
    }

    /// The target of the first value of the Link field, if it is the next page.
    private func target(_ response: CurlResponse) -> String? {
        guard let link = response["Link"], link.contains("; rel=\"next\", ") else { return nil }
        return String(link.dropFirst().prefix { $0 != ">" })
    }

    private func upTo(_ last: Int, from first: Int = 1) -> [Int] { (first...last).map { $0 * 1000 } }

    private func encode(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }
}
