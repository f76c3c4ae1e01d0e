import NIOCore
import NightjarAPI
import NightjarHTTP
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// Responses that are validated on another thread, because the validation takes too long for the loop.
@Suite struct ResponseCheckTests {
    /// Blocks threads until it is opened.
    private final class Gate: Sendable {
        private let monitor = Monitor()
        private let isOpen = Atomic<Bool>(false)

        func open() {
            monitor.withLock {
                isOpen.store(true, ordering: .sequentiallyConsistent)
                monitor.broadcast()
            }
        }

        func wait() {
            monitor.withLock { while !isOpen.load(ordering: .sequentiallyConsistent) { monitor.wait(until: nil) } }
        }
    }

    /// The results of calls, in the order in which they ended.
    private final class Ends: Sendable {
        let all = Mutex<[Result<NightjarHTTP.Response, NightjarError>]>([])
        let first = Gate()

        var handlers: TaskHandlers {
            TaskHandlers { [self] _, result in
                all.withLock { $0.append(result) }
                first.open()
            }
        }

        var texts: [String] {
            all.withLock { all in
                all.map { result in
                    switch result {
                    case .success(let response): "\(response.status)"
                    case .failure(let error): "\(error.kind) \(error.phase.map { "\($0)" } ?? "") \(error.message)"
                    }
                }
            }
        }
    }

    private static func json(_ body: String) -> [ScriptedTransport.Step] {
        [.head(200, [("Content-Type", "application/json")]), .body(body), .end]
    }

    private static let small = json(#"[{"id":1}]"#)
    private static let schema = #"{"items":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}}"#

    private func request(
        _ schema: DeferredSchema, _ validation: ResponseValidation = .error
    ) -> Request {
        var operation = Operation("list", .get, "/list")
        var reply = ResponseDescription(StatusRange(200))
        reply.schemas = [("application/json", schema)]
        operation.responses = [reply]
        operation.responseValidation = validation
        var request = Request(.get, "/list")
        request.contract = ResponseContract(operation)
        return request
    }

    /// Starts a call whose response is validated until the gate opens.
    private func held(_ gate: Gate, _ api: Client, _ ends: Ends, total: Duration? = nil) throws -> ClientTask {
        let schema = try JSONSchema(parsing: Self.schema)
        let isReached = Gate()
        var request = request(
            DeferredSchema { () throws(NightjarError) in
                isReached.open()
                gate.wait()
                return schema
            })
        request.timeouts.total = total
        let task = try api.start(request, on: nil, ends.handlers)
        isReached.wait()
        return task
    }

    private static func list(_ count: Int, last: String = #"{"id":0}"#) -> String {
        "[" + String(repeating: #"{"id":1,"title":"Hello, world"},"#, count: count) + last + "]"
    }

    @Test func smallCallsCompleteWhileALargeResponseIsChecked() throws {
        let body = Self.list(330_000)
        #expect(body.utf8.count > 10_000_000)
        let api = try client(ScriptedTransport([Self.json(body)] + Array(repeating: Self.small, count: 20)))
        let schema = DeferredSchema(try JSONSchema(parsing: Self.schema))
        _ = try schema.get()
        let ends = Ends()
        let large = try api.start(request(schema), on: nil, ends.handlers)
        for _ in 0..<20 { #expect(try api.sendBlocking(request(schema)).status == 200) }
        #expect(!large.isFinished)
        ends.first.wait()
        #expect(ends.texts == ["200"])
    }

    @Test func schemaOfTheCallerIsCheckedOnAThread() throws {
        let api = try client(
            ScriptedTransport([Self.json(Self.list(1000)), Self.json(Self.list(1000, last: "{}")), Self.small]))
        var request = Request(.get, "/list")
        request.schema = try JSONSchema(parsing: Self.schema)
        #expect(try api.sendBlocking(request).status == 200)
        let error = #expect(throws: NightjarError.self) { try api.sendBlocking(request) }
        #expect(error?.message == #"the JSON is not as expected: at "/1000/id": expected an integer, found nothing"#)
        #expect(error?.status == 200)
        #expect(try api.sendBlocking(request).status == 200)
    }

    @Test func schemaIsReadOnAThread() throws {
        let api = try client(ScriptedTransport([Self.small, Self.small]))
        let (gate, ends) = (Gate(), Ends())
        _ = try held(gate, api, ends)
        #expect(try api.sendBlocking(Request(.get, "/other")).status == 200)
        #expect(ends.texts == [])
        gate.open()
        ends.first.wait()
        #expect(ends.texts == ["200"])
    }

    @Test func callIsCancelledDuringTheCheck() throws {
        let api = try client(ScriptedTransport([Self.small, Self.small]))
        let (gate, ends) = (Gate(), Ends())
        let task = try held(gate, api, ends)
        task.cancel()
        ends.first.wait()
        gate.open()
        // This check ends after the first one has posted its result.
        let later = Ends()
        let other = Gate()
        other.open()
        _ = try held(other, api, later)
        later.first.wait()
        #expect(ends.texts == ["cancelled  the call was cancelled"])
        #expect(ends.all.withLock { $0.allSatisfy { $0.mayHaveBeenProcessed } })
    }

    @Test func deadlinePassesDuringTheCheck() throws {
        let api = try client(ScriptedTransport([Self.small]))
        let (gate, ends) = (Gate(), Ends())
        _ = try held(gate, api, ends, total: .milliseconds(30))
        ends.first.wait()
        gate.open()
        #expect(ends.texts == ["timeout total no complete response within 0.03 s; raise timeout.total, or set it to 0"])
        #expect(ends.all.withLock { $0.allSatisfy { $0.mayHaveBeenProcessed } })
    }

    @Test func closingTheClientEndsTheCheckOnce() throws {
        let api = try client(ScriptedTransport([Self.small]))
        let (gate, ends) = (Gate(), Ends())
        _ = try held(gate, api, ends)
        api.close()
        gate.open()
        #expect(ends.texts == ["cancelled  the client was closed during the call"])
    }

    // MARK: Messages of the loop and of the thread

    @Test(arguments: [0, 1000])
    func mismatchIsReportedTheSame(_ count: Int) throws {
        let body = Self.list(count, last: "{}")
        let api = try client(ScriptedTransport([Self.json(body), Self.json(body), Self.json("{" + body)]))
        let schema = DeferredSchema(try JSONSchema(parsing: Self.schema))
        let problem =
            #"the response of endpoint "list": the JSON is not as described: at "/\#(count)/id": expected an integer, found nothing"#
        let error = #expect(throws: NightjarError.self) { try api.sendBlocking(request(schema)) }
        #expect(error?.kind == .decoding)
        #expect(error?.message == problem)
        #expect(error?.phase == .receive)
        #expect(error?.requestMayHaveBeenProcessed == true)
        #expect(error?.response?.body.readableBytes == body.utf8.count)
        let response = try api.sendBlocking(request(schema, .warn))
        #expect(response.decisions.map(\.what) == [.mismatched(problem: problem)])
        let broken = #expect(throws: NightjarError.self) { try api.sendBlocking(request(schema)) }
        #expect(broken?.message.hasPrefix(#"the response of endpoint "list": the response is not JSON"#) == true)
    }

    @Test(arguments: [0, 1000])
    func schemaOfTheCallerIsCheckedAfterAWarning(_ count: Int) throws {
        let body = Self.list(count, last: "{}")
        let api = try client(ScriptedTransport([Self.json(body)]))
        var request = request(DeferredSchema(try JSONSchema(parsing: Self.schema)), .warn)
        request.schema = try JSONSchema(parsing: #"{"maxItems":0}"#)
        let error = #expect(throws: NightjarError.self) { try api.sendBlocking(request) }
        #expect(
            error?.message.hasPrefix(
                "the JSON is not as expected: expected an array of at most 0 elements, found one of") == true)
        #expect(error?.decisions.count == 1)
    }
}

extension Result<NightjarHTTP.Response, NightjarError> {
    fileprivate var mayHaveBeenProcessed: Bool {
        switch self {
        case .success: true
        case .failure(let error): error.requestMayHaveBeenProcessed
        }
    }
}
