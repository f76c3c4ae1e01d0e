import Glibc
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// The wait for one task, pauses, and body sources without data.
@Suite struct TaskControlTests {
    /// The events of a call, in their order.
    final class Events: Sendable {
        let all = Mutex<[String]>([])
        let result = Mutex<Result<Response, NightjarError>?>(nil)

        func add(_ event: String) { all.withLock { $0.append(event) } }

        var text: String { all.withLock { $0.joined(separator: " ") } }
        var body: String {
            all.withLock { $0.filter { $0.hasPrefix("body:") }.map { $0.dropFirst(5) }.joined() }
        }

        /// Handlers that record the events of a streamed response.
        func handlers(head: @escaping @Sendable (ClientTask) -> Void = { _ in }) -> TaskHandlers {
            var handlers = collecting
            handlers.head = { task, _ in
                self.add("head")
                head(task)
            }
            handlers.body = { _, bytes in self.add("body:" + String(buffer: bytes)) }
            return handlers
        }

        var collecting: TaskHandlers {
            TaskHandlers { _, result in
                self.add("end")
                self.result.withLock { $0 = result }
            }
        }

        var error: ErrorKind? {
            result.withLock { if case .failure(let error) = $0 { error.kind } else { nil } }
        }
    }

    private final class Counter: Sendable {
        private let number = Mutex(0)

        var value: Int { number.withLock { $0 } }

        @discardableResult
        func add(_ count: Int) -> Int {
            number.withLock { number in
                number += count
                return number
            }
        }

        func reset() { number.withLock { $0 = 0 } }
    }

    private func poll(_ queue: CompletionQueue, until isDone: () -> Bool) {
        let start = ContinuousClock.now
        while !isDone(), ContinuousClock.now - start < .seconds(30) { queue.poll(timeout: .milliseconds(20)) }
    }

    // MARK: Waiting

    @Test func waitReturnsAfterTheCompletion() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "ok")])]])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let events = Events()
        let task = try client.start(Request(.get, "/"), on: queue, events.collecting)
        try task.waitBlocking(timeout: nil)
        #expect(events.text == "end" && task.isFinished)
        try task.waitBlocking(timeout: .zero)
    }

    @Test func waitTimesOutAndTheTaskContinues() throws {
        let latch = Latch()
        let peer = try ScriptedPeer([[.expectRequest, .waitFor(latch), .respond(body: "ok")]])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let events = Events()
        let task = try client.start(Request(.get, "/"), on: queue, events.collecting)
        let late = #expect(throws: NightjarError.self) { try task.waitBlocking(timeout: .milliseconds(30)) }
        #expect(late?.kind == .timeout && events.text == "")
        latch.open()
        try task.waitBlocking(timeout: longTimeout)
        #expect(events.text == "end" && events.error == nil)
    }

    @Test func waitInsideACallbackIsAnError() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "ok")])]])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let kinds = Mutex<[ErrorKind]>([])
        let other = try client.start(Request(.get, "/"), on: queue, TaskHandlers { _, _ in })
        let task = try client.start(
            Request(.get, "/"), on: queue,
            TaskHandlers { task, _ in
                do throws(NightjarError) { try task.waitBlocking(timeout: nil) } catch {
                    kinds.withLock { $0.append(error.kind) }
                }
            })
        try task.waitBlocking(timeout: longTimeout)
        try other.waitBlocking(timeout: longTimeout)
        #expect(kinds.withLock { $0 } == [.reentrant])
        let unqueued = try client.start(Request(.get, "/"), on: nil, TaskHandlers { _, _ in })
        let error = #expect(throws: NightjarError.self) { try unqueued.waitBlocking(timeout: nil) }
        #expect(error?.kind == .invalidArgument)
    }

    /// Several threads wait for tasks of one queue. Each runs the events of all.
    @Test func threadsShareAQueue() async throws {
        let peer = try longLivedPeer(
            [[ScriptedPeer.Step]](
                repeating: [.untilClosed([.expectRequest, .respond(body: "ok")])], count: 8))
        let client = try longLivedClient(of: peer)
        let queue = CompletionQueue()
        let count = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await onOwnThread {
                        for number in 0..<25 {
                            let handlers = TaskHandlers { _, _ in count.add(1) }
                            let task = try client.start(Request(.get, "/\(number)"), on: queue, handlers)
                            try task.waitBlocking(timeout: longTimeout)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let total = count.value
        #expect(total == 200)
    }

    @Test func closedQueueEndsTheWait() async throws {
        let peer = try longLivedPeer([[.expectRequest, .expectClose]])
        let client = try longLivedClient(of: peer)
        let queue = CompletionQueue()
        let events = Events()
        let task = try client.start(Request(.get, "/"), on: queue, events.collecting)
        async let waited: Void = onOwnThread { try task.waitBlocking(timeout: nil) }
        queue.close()
        try await waited
        #expect(events.error == .cancelled)
    }

    // MARK: Pauses

    @Test func pausedTaskDeliversNothing() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "0123456789")]])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let events = Events()
        let task = try client.start(Request(.get, "/"), on: queue, events.handlers { $0.pause() })
        poll(queue) { task.isFinished }
        queue.poll(timeout: .milliseconds(50))
        #expect(events.text == "head")
        task.resume()
        try task.waitBlocking(timeout: longTimeout)
        #expect(events.body == "0123456789" && events.text.hasSuffix("end") && events.error == nil)
    }

    /// A callback of a held event pauses again.
    @Test func eventsStayInOrderWhenATaskIsPausedAgain() throws {
        let steps = (0..<6).flatMap {
            [ScriptedPeer.Step.send(Bytes(Array("1\r\n\($0)\r\n".utf8))), .wait(.milliseconds(5))]
        }
        let peer = try ScriptedPeer([
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")] + steps + [
                .send("0\r\n\r\n")
            ]
        ])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let events = Events()
        var handlers = events.handlers { $0.pause() }
        let record = handlers.body
        handlers.body = { task, bytes in
            record?(task, bytes)
            task.pause()
        }
        let task = try client.start(Request(.get, "/"), on: queue, handlers)
        var seen = ""
        while events.result.withLock({ $0 == nil }) {
            poll(queue) { events.text != seen }
            seen = events.text
            queue.poll(timeout: .milliseconds(20))
            #expect(events.text == seen)
            task.resume()
        }
        #expect(events.body == "012345" && events.error == nil)
    }

    /// The client buffers a part of the response, and the server has to wait.
    @Test func pauseHoldsTheServerBack() throws {
        let size = 8 << 20
        let peer = try ScriptedPeer([
            [
                .expectRequest, .send(Bytes(Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8))),
                .send(Bytes([UInt8](repeating: 120, count: size))),
            ]
        ])
        let client = try client(of: peer) {
            $0.timeouts = Timeouts(connect: longTimeout, idle: .seconds(3), total: longTimeout)
        }
        let queue = CompletionQueue()
        let received = Counter()
        var handlers = TaskHandlers { _, _ in }
        handlers.head = { task, _ in task.pause() }
        handlers.body = { _, bytes in received.add(bytes.readableBytes) }
        let task = try client.start(Request(.get, "/"), on: queue, handlers)
        // Longer than the idle timeout, which does not run.
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .milliseconds(3500) { queue.poll(timeout: .milliseconds(50)) }
        let early = received.value
        #expect(!task.isFinished && early == 0)
        task.resume()
        try task.waitBlocking(timeout: longTimeout)
        let total = received.value
        #expect(total == size)
    }

    /// Starts a call with a response that is larger than the client buffers, and pauses it.
    private func withPausedResponse(
        size: Int, _ body: (ClientTask, Events) throws -> Void
    ) throws {
        let peer = try ScriptedPeer([
            [
                .expectRequest, .send(Bytes(Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8))),
                .send(Bytes([UInt8](repeating: 120, count: size))),
            ]
        ])
        let client = try client(of: peer) { $0.timeouts = .long }
        let queue = CompletionQueue()
        let events = Events()
        let task = try client.start(Request(.get, "/"), on: queue, events.collecting)
        task.pause()
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .milliseconds(300) { queue.poll(timeout: .milliseconds(50)) }
        #expect(!task.isFinished)
        try body(task, events)
    }

    @Test func collectedResponseIsPaused() throws {
        let size = 16 << 20
        try withPausedResponse(size: size) { task, events in
            task.resume()
            try task.waitBlocking(timeout: longTimeout)
            let response = try events.result.withLock { try $0?.get() }
            #expect(response?.body.readableBytes == size)
        }
    }

    /// The client continues to read when the task is resumed, and not when the queue is polled. Parts that arrive between
    /// the two must not stop it again.
    @Test func resumedResponseIsReadBeforeTheQueueIsPolled() throws {
        try withPausedResponse(size: 16 << 20) { task, events in
            task.resume()
            // Nothing polls the queue.
            try eventually("the call ended", within: longTimeout) { task.isFinished }
            #expect(events.text == "")
            try task.waitBlocking(timeout: longTimeout)
            #expect(events.error == nil)
        }
    }

    /// A pause after a cancel has no effect, so that the completion is delivered and the queue can be closed.
    @Test(arguments: [false, true]) func pauseAfterACancelHasNoEffect(wasPaused: Bool) throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "body")]])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let events = Events()
        let task = try client.start(Request(.get, "/"), on: queue, events.handlers { if wasPaused { $0.pause() } })
        if wasPaused { poll(queue) { events.text == "head" } }
        while !task.isFinished { usleep(1000) }
        task.cancel()
        task.pause()
        queue.close()
        #expect(events.text.hasSuffix("end") && events.error == .cancelled)
    }

    @Test(arguments: [false, true]) func cancelEndsAPause(isComplete: Bool) throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: \(isComplete ? 2 : 3)\r\n\r\nab"), .expectClose]
        ])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let events = Events()
        let task = try client.start(Request(.get, "/"), on: queue, events.handlers { $0.pause() })
        poll(queue) { events.text == "head" && (!isComplete || task.isFinished) }
        task.cancel()
        try task.waitBlocking(timeout: longTimeout)
        #expect(events.text == "head end" && events.error == .cancelled)
        task.pause()
        task.resume()
    }

    /// A lost connection ends the pause, and the events before the error are delivered.
    @Test func errorEndsAPause() throws {
        let latch = Latch()
        let peer = try ScriptedPeer([
            [
                .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01"), .waitFor(latch),
                .closeWithoutNotice,
            ]
        ])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let events = Events()
        let task = try client.start(Request(.get, "/"), on: queue, events.handlers { $0.pause() })
        poll(queue) { events.text == "head" }
        latch.open()
        try task.waitBlocking(timeout: longTimeout)
        #expect(events.body == "01" && events.error == .connectionLost)
    }

    @Test func closedQueueEndsAPause() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "body")]])
        let client = try client(of: peer)
        let queue = CompletionQueue()
        let events = Events()
        let task = try client.start(Request(.get, "/"), on: queue, events.handlers { $0.pause() })
        poll(queue) { task.isFinished }
        #expect(events.text == "head")
        queue.close()
        #expect(events.text == "head end" && events.error == .cancelled)
    }

    // MARK: Body sources

    private func echo(
        _ client: Client, length: Int?, _ provide: @escaping @Sendable (ClientTask) -> TaskHandlers.BodyPart
    )
        throws -> (ClientTask, Events)
    {
        var request = Request(.post, "/")
        request.body = .stream(length: length)
        let events = Events()
        var handlers = events.collecting
        handlers.provideBody = { task, _ in provide(task) }
        return (try client.start(request, on: CompletionQueue(), handlers), events)
    }

    /// The source is resumed before or after its function has returned, and more often than necessary.
    @Test(arguments: [true, false]) func sourceWithoutDataIsCalledAgain(isEarly: Bool) throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(body: "ok")]])
        let client = try client(of: peer)
        let calls = Counter()
        let (task, events) = try echo(client, length: nil) { task in
            let number = calls.add(1)
            if number > 12 { return .end }
            if number % 2 == 0 { return .bytes(ByteBuffer(string: "\(number),")) }
            if isEarly { task.resumeBody() }
            return .later
        }
        if isEarly {
            try task.waitBlocking(timeout: longTimeout)
        } else {
            let start = ContinuousClock.now
            while events.text.isEmpty, ContinuousClock.now - start < .seconds(30) {
                task.resumeBody()
                task.resumeBody()
                try? task.waitBlocking(timeout: .milliseconds(5))
            }
        }
        #expect(peer.requests.first?.body == Bytes(Array("2,4,6,8,10,12,".utf8)).array && events.error == nil)
    }

    @Test func deferredSourceIsRewoundForARetry() throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .send("HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n"), .close],
            [.expectRequest, .respond(body: "ok")],
        ])
        let client = try client(of: peer) { $0.retry.maximumAttempts = 2 }
        var request = Request(.put, "/")
        request.body = .stream(length: 4)
        let events = Events()
        let place = Counter()
        let waits = Counter()
        var handlers = events.collecting
        handlers.rewindBody = { _ in place.reset() }
        handlers.provideBody = { task, _ in
            if waits.add(1) % 2 == 1 {
                task.resumeBody()
                return .later
            }
            let index = place.add(1) - 1
            return index < 4 ? .bytes(ByteBuffer(string: "\(index)")) : .end
        }
        let task = try client.start(request, on: CompletionQueue(), handlers)
        try task.waitBlocking(timeout: longTimeout)
        #expect(peer.requests.map(\.body) == [Array("0123".utf8), Array("0123".utf8)] && events.error == nil)
    }

    // MARK: Cancellers

    private func failure(_ body: () async throws -> Response) async -> NightjarError? {
        do { _ = try await body() } catch { return error as? NightjarError }
        return nil
    }

    @Test func cancellerEndsABlockingCall() async throws {
        let latch = Latch()
        let peer = try longLivedPeer([[.expectRequest, .open(latch), .expectClose]])
        let client = try longLivedClient(of: peer)
        let canceller = Request.Canceller()
        var request = Request(.get, "/")
        request.canceller = canceller
        async let cancelled: Void = onOwnThread {
            try latch.wait()
            canceller.cancel()
        }
        let error = await failure { [request] in try await onOwnThread { try client.sendBlocking(request) } }
        try await cancelled
        #expect(error?.kind == .cancelled && canceller.isCancelled)
        let later = #expect(throws: NightjarError.self) { try client.sendBlocking(request) }
        #expect(later?.kind == .cancelled && peer.connectionCount == 1)
    }

    /// The canceller does not keep calls that have ended, and cancels each of those in flight.
    @Test func cancellerEndsAllCallsOfARequest() throws {
        let peer = try ScriptedPeer([[.untilClosed([.expectRequest, .respond(body: "ok")])]], repeatsLast: true)
        let client = try client(of: peer)
        let canceller = Request.Canceller()
        var request = Request(.get, "/")
        request.canceller = canceller
        for _ in 0..<100 { #expect(try client.sendBlocking(request).text == "ok") }
        let listener = try SilentListener()
        let silent = try LoopbackTests.client(port: listener.port)
        let queue = CompletionQueue()
        let events = (0..<5).map { _ in Events() }
        let tasks = try events.map { try silent.start(request, on: queue, $0.collecting) }
        canceller.cancel()
        for task in tasks { try task.waitBlocking(timeout: longTimeout) }
        #expect(events.allSatisfy { $0.error == .cancelled })
    }
}
