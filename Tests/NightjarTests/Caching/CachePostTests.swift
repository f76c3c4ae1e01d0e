import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

/// Responses to POST requests that are stored for later GET requests. RFC 9110 section 9.3.3.
@Suite struct CachePostTests {
    typealias Bench = CacheTests.Bench

    private static let fields = [("Cache-Control", "max-age=600"), ("Content-Location", "/a")]

    private func post(_ target: String = "/a", _ headers: [(String, String)] = []) throws -> Request {
        var request = try Bench.request(.post, target, nil, headers)
        request.body = .bytes(ByteBuffer(string: "x"))
        return request
    }

    @Test func responseOlderThanAWriteIsNotStored() throws {
        let bench = try Bench { number, requested in
            requested.method == .post ? .init(200, CachePostTests.fields, "\(number)") : .init(200, [], "now")
        }
        let results = CacheTests.Results()
        bench.server.isHeld.store(true, ordering: .relaxed)
        try bench.start(post(), results)
        bench.run("the first request was sent") { bench.requested.count == 1 }
        bench.server.isHeld.store(false, ordering: .relaxed)
        _ = try bench.client.sendBlocking(post())
        bench.server.release()
        bench.run { results.count == 1 }
        #expect(try String(buffer: bench.get().body) == "now")
        #expect(bench.requested.count == 3)
    }

    @Test func responseBelongsToTheCredentialsOfItsRequest() throws {
        let bench = try Bench { number, _ in .init(200, CachePostTests.fields, "\(number)") }
        _ = try bench.client.sendBlocking(post("/a", [("Authorization", "Bearer a")]))
        #expect(try String(buffer: bench.get("/a", [("Authorization", "Bearer b")]).body) == "2")
        #expect(try String(buffer: bench.get("/a", [("Authorization", "Bearer a")]).body) == "1")
    }

    @Test func truncatedResponseIsNotStored() throws {
        let bench = try Bench { number, _ in
            var response = ServerInMemory.Response(200, CachePostTests.fields, "whole")
            response.breaksOff = number == 1
            return response
        }
        #expect(throws: NightjarError.self) { try bench.client.sendBlocking(post()) }
        #expect(try String(buffer: bench.get().body) == "whole")
        #expect(bench.requested.count == 2)
    }
}
