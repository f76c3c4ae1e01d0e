import NIOCore
import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

@Suite struct MiddlewareTests {
    /// Notes the calls, and changes the request and the response.
    private struct Marking: Middleware {
        let name: String
        let log: Log

        final class Log: Sendable {
            let lines = Mutex<[String]>([])

            func note(_ line: String) { lines.withLock { $0.append(line) } }
        }

        func intercept(_ request: Request, next: Next) async throws(NightjarError) -> Response {
            var request = request
            log.note("\(name) before \(request.target) \(request.body.length ?? -1)")
            request.headers["X-Marks"] = (request.headers["X-Marks"] ?? "") + name
            do throws(NightjarError) {
                let response = try await next(request)
                log.note("\(name) after \(response.status)")
                return response.with(body: ByteBuffer(string: response.text + name))
            } catch {
                log.note("\(name) failed \(error.kind.name)")
                throw error
            }
        }
    }

    private struct Repeating: Middleware {
        func intercept(_ request: Request, next: Next) async throws(NightjarError) -> Response {
            _ = try await next(request)
            return try await next(request)
        }
    }

    private struct Rejecting: Middleware {
        func intercept(_ request: Request, next: Next) async throws(NightjarError) -> Response {
            throw NightjarError(.invalidRequest, "the program has no consent")
        }
    }

    private let reply: [ScriptedTransport.Step] = [.head(200), .body("x"), .end]

    @Test func firstMiddlewareIsOutermost() async throws {
        let transport = ScriptedTransport([reply, [.head(404), .end]])
        let log = Marking.Log()
        let api = try client(transport) {
            $0.middleware = [Marking(name: "a", log: log), Marking(name: "b", log: log)]
        }
        defer { api.close() }
        var request = Request(.post, "/p")
        request.body = try .text("1234")
        #expect(try await api.send(request).text == "xba")
        #expect(
            log.lines.withLock { $0 } == ["a before /p 4", "b before /p 4", "b after 200", "a after 200"])
        #expect(transport.log.withLock { $0.heads[0] }.contains("\r\nX-Marks: ab\r\n"))
        log.lines.withLock { $0 = [] }
        let error = await #expect(throws: NightjarError.self) { try await api.send(.get("/q")) as ByteBuffer }
        #expect(error?.status == 404)
        #expect(
            log.lines.withLock { $0 } == [
                "a before /q 0", "b before /q 0", "b failed not_found", "a failed not_found",
            ])
    }

    @Test func middlewareMayFailTheCall() async throws {
        let transport = ScriptedTransport([reply])
        let api = try client(transport) { $0.middleware = [Rejecting()] }
        defer { api.close() }
        let error = await #expect(throws: NightjarError.self) { try await api.send(Request(.get, "/")) }
        #expect(error?.message == "the program has no consent")
        #expect(transport.log.withLock { $0.heads.isEmpty })
        // A blocking call has no Swift task.
        #expect(try api.sendBlocking(Request(.get, "/")).status == 200)
    }

    @Test func requestMayBeSentAgain() async throws {
        let transport = ScriptedTransport([[.head(200), .body("1"), .end], [.head(200), .body("2"), .end]])
        let api = try client(transport) { $0.middleware = [Repeating()] }
        defer { api.close() }
        #expect(try await api.send(Request(.get, "/")).text == "2")
    }

    @Test func streamedBodyIsSentOnceUnlessItHasAFactory() throws {
        let parts = AsyncStream<[UInt8]> { $0.finish() }
        var request = Request(.put, "/")
        request.body = .stream(length: nil)
        let once = BodySource(Request.StreamedBody(parts))
        #expect(try once.pump(for: request) != nil)
        let error = #expect(throws: NightjarError.self) { try once.pump(for: request) }
        #expect(error?.kind == .invalidRequest)
        let again = BodySource(Request.StreamedBody { parts })
        for _ in 1...2 { #expect(try again.pump(for: request) != nil) }
        #expect(try once.pump(for: Request(.get, "/")) == nil)
    }
}
