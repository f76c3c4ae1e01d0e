import Foundation
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

/// Each request for a page gets one result, even if the client or the queue is closed before the page arrives.
@Suite(.timeLimit(.minutes(2))) struct PaginatorClosingTests {
    /// Records the results of each request.
    private final class Responses: Sendable {
        private let all = Mutex<[Int: [ErrorKind?]]>([:])

        func add(_ result: Result<Page?, NightjarError>, to request: Int) {
            all.withLock { all in
                guard case .failure(let error) = result else { return all[request, default: []].append(nil) }
                all[request, default: []].append(error.kind)
            }
        }

        var byRequest: [Int: [ErrorKind?]] { all.withLock { $0 } }
    }

    /// Runs outside of the cooperative thread pool, whose threads must not block.
    private func onThread(_ body: @escaping @Sendable () -> Void) -> DispatchSemaphore {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            body()
            done.signal()
        }
        return done
    }

    /// Blocks the loop. Messages that are submitted until its release arrive as one batch.
    private func hold(_ api: Client) -> DispatchSemaphore {
        let (holds, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        api.loop.submit(
            .run {
                holds.signal()
                release.wait()
            })
        holds.wait()
        return release
    }

    /// Closes the client on a separate thread. Returns when the client accepts no more messages.
    private func beginClosing(_ api: Client) -> DispatchSemaphore {
        let closing = onThread { api.close() }
        while api.loop.submit(.nothing) { sched_yield() }
        return closing
    }

    private func paginator(_ api: Client) throws -> Paginator {
        try Paginator(api, Request(.get, "/hold"), Pagination(.cursor))
    }

    private func held() throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.retry.maximumAttempts = 1
        return try Client(configuration) { PausedTransport($0) }
    }

    @Test(arguments: [true, false])
    func requestJustBeforeTheCloseReceivesAResult(onQueue: Bool) throws {
        let api = try held()
        let paginator = try paginator(api)
        let queue = onQueue ? CompletionQueue() : nil
        let responses = Responses()
        let release = hold(api)
        for request in 0..<3 { paginator.nextPage(on: queue) { responses.add($0, to: request) } }
        let closing = beginClosing(api)
        release.signal()
        closing.wait()
        queue?.close()
        #expect(responses.byRequest == [0: [.closed], 1: [.closed], 2: [.closed]])
    }

    /// Closing the queue does not wait for the loop of a client that is being closed.
    @Test func requestIsCancelledDuringTheClose() throws {
        let api = try held()
        let paginator = try paginator(api)
        let queue = CompletionQueue()
        let responses = Responses()
        let release = hold(api)
        paginator.nextPage(on: queue) { responses.add($0, to: 0) }
        let closing = beginClosing(api)
        queue.close()
        #expect(responses.byRequest == [0: [.cancelled]])
        release.signal()
        closing.wait()
        #expect(responses.byRequest == [0: [.cancelled]])
    }

    @Test func requestsRacingWithClosesReceiveOneResult() throws {
        for round in 0..<60 {
            let api = try client(
                ScriptedTransport([[.head(200), .body(#"{"items":[1],"next_cursor":"a"}"#), .end]]))
            let paginator = try Paginator(api, Request(.get, "/list"), Pagination(.cursor))
            let queue = CompletionQueue()
            let responses = Responses()
            let requester = onThread {
                for request in 0..<4 {
                    paginator.nextPage(on: request == 3 ? nil : queue) { responses.add($0, to: request) }
                }
            }
            let closing = onThread { api.close() }
            if round.isMultiple(of: 2) { queue.poll(timeout: .zero) }
            queue.close()
            requester.wait()
            closing.wait()
            // A request that the closed queue rejected gets its result on its own thread.
            #expect(responses.byRequest.keys.sorted() == [0, 1, 2, 3], "round \(round)")
            #expect(responses.byRequest.values.allSatisfy { $0.count == 1 }, "round \(round)")
        }
    }

    @Test func closedQueueFailsImmediately() throws {
        let api = try held()
        let paginator = try paginator(api)
        let queue = CompletionQueue()
        queue.close()
        let responses = Responses()
        let error = #expect(throws: NightjarError.self) {
            try paginator.startNextPage(on: queue) { responses.add($0, to: 0) }
        }
        #expect(error?.kind == .closed && error?.message == "the queue is closed")
        #expect(responses.byRequest.isEmpty)
    }
}
