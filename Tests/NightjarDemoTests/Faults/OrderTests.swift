import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct OrderTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func order(_ body: String, key: String? = nil, _ query: String = "") throws -> CurlResponse {
        let field = key.map { ["-H", "Idempotency-Key: \($0)"] } ?? []
        return try demo.curl(
            "/v1/orders\(query)", ["-H", "Content-Type: application/json", "-d", body] + field)
    }

    private var counts: [String: Int]? {
        get throws { try demo.curl("/v1/orders/count").json as? [String: Int] }
    }

    @Test func ordersAreCreatedAndCounted() throws {
        let first = try order(#"{"n":1}"#)
        #expect(first.status == 201)
        #expect(first["Location"] == "/v1/orders/1")
        #expect(try first.json["id"] as? Int == 1)
        #expect(try demo.curl("/v1/orders/1").body == first.body)
        #expect(try demo.curl("/v1/orders/2").status == 404)
        #expect(try order(#"{"n":1}"#).json["id"] as? Int == 2)
        #expect(try order("nonsense").status == 400)
        let long = try order("{\"a\":\"\(String(repeating: "a", count: 4096))\"}")
        #expect(try long.json["body_bytes"] as? Int == 4104)
        #expect(try long.json["order"] is NSNull)
        #expect(try counts == ["created": 3, "requests": 4, "keys": 0, "repeated_bodies": 1])
        #expect(try demo.curl("/v1/orders", ["-X", "DELETE"]).status == 204)
        #expect(try counts == ["created": 0, "requests": 0, "keys": 0, "repeated_bodies": 0])
    }

    @Test func keyCreatesOneOrder() throws {
        let first = try order(#"{"n":1}"#, key: "\"a\"")
        let again = try order(#"{"n":1}"#, key: "\"a\"")
        #expect(again.status == 201)
        #expect(again.body == first.body)
        #expect(try order(#"{"n":2}"#, key: "\"a\"").status == 422)
        #expect(try order(#"{"n":1}"#, key: "\"b\"").json["id"] as? Int == 2)
        #expect(try counts == ["created": 2, "requests": 4, "keys": 2, "repeated_bodies": 1])
        let seen = demo.server.statistics.orders
        #expect((seen.created, seen.replayed, seen.conflicts) == (2, 1, 1))
    }

    @Test func repeatedKeyWaitsForTheFirstRequest() throws {
        let first = try demo.begin(
            "POST", "/v1/orders?delay=60", type: "application/json", body: #"{"n":1}"#, "Idempotency-Key: a\r\n")
        try eventually("the order exists") { demo.server.statistics.orders.created == 1 }
        #expect(try order(#"{"n":1}"#, key: "a").status == 409)
        #expect(try counts?["created"] == 1)
        first.close()
    }

    // MARK: Dropped connections

    private enum Response: Hashable {
        case whole, truncated, none
    }

    /// Uses a plain socket, because starting curl is too slow for many requests.
    private func post(_ number: Int, _ query: String, key: String? = nil) throws -> Response {
        let field = key.map { "Idempotency-Key: \($0)\r\n" } ?? ""
        let client = try demo.begin(
            "POST", "/v1/orders\(query)", type: "application/json", body: #"{"n":\#(number)}"#, field)
        // If the server has unread bytes, closing the connection sends a reset.
        let response = (try? client.receiveToEnd()) ?? []
        return response.isEmpty ? .none : response.last == UInt8(ascii: "}") ? .whole : .truncated
    }

    /// The state of a request when the server dropped its connection.
    private struct Point: Hashable {
        let isRead: Bool
        let isCreated: Bool
        let response: Response
    }

    @Test func connectionIsDroppedAtEachPoint() throws {
        var points: [Point: Int] = [:]
        for number in 0..<200 {
            let created = demo.server.statistics.orders.created
            let response = try post(number, "?drop=1&seed=3")
            let seen = demo.server.statistics
            let exchange = try #require(seen.exchanges.last)
            let point = Point(
                isRead: exchange.isComplete, isCreated: seen.orders.created > created, response: response)
            points[point, default: 0] += 1
        }
        let expected: Set = [
            Point(isRead: false, isCreated: false, response: .none),
            Point(isRead: true, isCreated: false, response: .none),
            Point(isRead: true, isCreated: true, response: .none),
            Point(isRead: true, isCreated: true, response: .truncated),
        ]
        #expect(Set(points.keys) == expected)
        #expect(points.values.allSatisfy { $0 > 25 })
        #expect(demo.server.statistics.orders.dropped == 200)
        #expect(demo.server.statistics.abandoned == [:])
    }

    @Test func dropsAreIndistinguishableForCurl() throws {
        let ends = try (0..<10).map { number in
            let arguments = ["-H", "Content-Type: application/json", "-d", #"{"n":\#(number)}"#]
            return try demo.curlStatus("/v1/orders?drop=1&seed=3", arguments)
        }
        // curl's exit statuses: 18 is an incomplete response, 52 no response, and 56 a reset without a response.
        #expect(Set(ends).isSubset(of: [18, 52, 56]), "\(ends)")
    }

    @Test func shareOfRequestsIsDropped() throws {
        let responses = try (0..<300).map { try post($0, "?drop=0.3&seed=1") }
        #expect((60...120).contains(responses.count { $0 != .whole }))
        #expect(demo.server.statistics.orders.dropped == responses.count { $0 != .whole })
    }

    @Test func sameSeedDropsTheSameRequests() throws {
        func round() throws -> [Response] {
            #expect(try demo.curl("/v1/orders", ["-X", "DELETE"]).status == 204)
            return try (0..<30).map { try post($0, "?drop=0.5&seed=9") }
        }
        let first = try round()
        #expect(try round() == first)
        #expect(Set(first).count > 1)
    }

    /// The client repeats each request with the same key until it receives a response.
    @Test func keysSurviveDrops() throws {
        for number in 0..<100 {
            var attempts = 1
            while try post(number, "?drop=0.5&seed=5", key: "k\(number)") != .whole, attempts < 50 { attempts += 1 }
            #expect(attempts < 50)
        }
        let counts = try #require(try counts)
        #expect(counts["created"] == 100)
        #expect(counts["keys"] == 100)
        #expect(counts["repeated_bodies"] == 0)
        #expect(try #require(counts["requests"]) > 130)
    }
}
