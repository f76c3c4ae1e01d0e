import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct OrderTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func order(_ body: String, key: String? = nil, _ query: String = "") throws -> CurlAnswer {
        let field = key.map { ["-H", "Idempotency-Key: \($0)"] } ?? []
        return try demo.curl(
            "/v1/orders\(query)", ["-H", "Content-Type: application/json", "-d", body] + field)
    }

    private var counts: [String: Int]? {
        get throws { try demo.curl("/v1/orders/count").json as? [String: Int] }
    }

    @Test func createsAndCounts() throws {
        let first = try order(#"{"n":1}"#)
        #expect(first.status == 201)
        #expect(first["Location"] == "/v1/orders/1")
        #expect(try first.json["id"] as? Int == 1)
        #expect(try order(#"{"n":1}"#).json["id"] as? Int == 2)
        #expect(try order("nonsense").status == 400)
        #expect(try order("{\"a\":\"\(String(repeating: "a", count: 65_536))\"}").status == 413)
        #expect(try counts == ["created": 2, "requests": 4, "keys": 0, "repeated_bodies": 1])
        #expect(try demo.curl("/v1/orders", ["-X", "DELETE"]).status == 204)
        #expect(try counts == ["created": 0, "requests": 0, "keys": 0, "repeated_bodies": 0])
    }

    @Test func aKeyCreatesOnce() throws {
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

    @Test func theSecondDoesNotOvertakeTheFirst() throws {
        let body = ["-H", "Content-Type: application/json", "-d", #"{"n":1}"#, "-H", "Idempotency-Key: a"]
        #expect(try demo.curlStatus("/v1/orders?delay=30", ["-m", "0.2"] + body) == 28)
        #expect(try order(#"{"n":1}"#, key: "a").status == 409)
        #expect(try counts?["created"] == 1)
    }

    @Test func dropsAtEachPoint() throws {
        var ends: Set<Int32> = []
        for number in 0..<40 {
            let body = #"{"n":\#(number)}"#
            let arguments = ["-H", "Content-Type: application/json", "-d", body]
            ends.insert(try demo.curlStatus("/v1/orders?drop=1&seed=3", arguments))
        }
        // 18: half an answer. 52: none. Whether unread bytes reset the connection (56) is up to the kernel.
        #expect(ends.isSuperset(of: [18, 52]))
        #expect(ends.isSubset(of: [18, 52, 55, 56]))
        let seen = demo.server.statistics.orders
        #expect(seen.dropped == 40)
        #expect((1..<40).contains(seen.created))
        #expect(try counts?["created"] == seen.created)
    }

    @Test func theSameSeedDropsTheSame() throws {
        func round() throws -> [Bool] {
            _ = try demo.control(#"{"reset":true}"#)
            return try (0..<30).map { number in
                let arguments = ["-H", "Content-Type: application/json", "-d", #"{"n":\#(number)}"#]
                return try demo.curlStatus("/v1/orders?drop=0.5&seed=9", arguments) == 0
            }
        }
        let first = try round()
        #expect(try round() == first)
        #expect(Set(first) == [true, false])
    }

    /// A client that asks again with the same key until it has an answer.
    @Test func keysSurviveDrops() throws {
        for number in 0..<20 {
            let arguments = [
                "-H", "Content-Type: application/json", "-d", #"{"n":\#(number)}"#, "-H", "Idempotency-Key: k\(number)",
            ]
            try eventually("an answer") { try demo.curlStatus("/v1/orders?drop=0.5&seed=5", arguments) == 0 }
        }
        let counts = try #require(try counts)
        #expect(counts["created"] == 20)
        #expect(counts["keys"] == 20)
        #expect(counts["repeated_bodies"] == 0)
        #expect(try #require(counts["requests"]) > 20)
    }
}
