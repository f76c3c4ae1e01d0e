import NIOCore
import NightjarHTTP
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// A client's loop: work from other threads, and the delivery of events.
@Suite(.timeLimit(.minutes(1))) struct LoopTests {
    /// A callback that runs on the loop posts an event while another queue's event is being posted.
    @Test func eventsPostedByALoopHandlerReachTheirQueue() throws {
        let api = try Client(Configuration())
        let (first, second) = (CompletionQueue(), CompletionQueue())
        let count = Mutex(0)
        let submitted = api.loop.submit(
            .run { [loop = api.loop] in
                let counted = QueueEvent.run { count.withLock { $0 += 1 } }
                loop.post(.run { loop.post(.run { count.withLock { $0 += 10 } }, to: first) }, to: nil)
                loop.post(counted, to: second)
            })
        #expect(submitted)
        // Each queue runs the one event that was posted to it.
        for _ in 0..<200 where count.withLock({ $0 }) == 0 { first.poll(timeout: .milliseconds(5)) }
        #expect(count.withLock { $0 } == 10)
        for _ in 0..<200 where count.withLock({ $0 }) == 10 { second.poll(timeout: .milliseconds(5)) }
        #expect(count.withLock { $0 } == 11)
        api.close()
    }

    /// The handler of an earlier event runs later than the present work, so its events follow.
    @Test func eventPrecedesEventsOfLoopHandlers() throws {
        let api = try Client(Configuration())
        let queue = CompletionQueue()
        let order = Mutex<[Int]>([])
        api.loop.submit(
            .run { [loop = api.loop] in
                loop.post(.run { loop.post(.run { order.withLock { $0.append(2) } }, to: queue) }, to: nil)
                loop.post(.run { order.withLock { $0.append(1) } }, to: queue)
            })
        for _ in 0..<200 where order.withLock({ $0.count }) < 2 { queue.poll(timeout: .milliseconds(5)) }
        #expect(order.withLock { $0 } == [1, 2])
        api.close()
    }

    @Test func closedGateDiscardsWork() throws {
        let thread = try LoopThread()
        let gate = LoopGate(thread.loop)
        let runs = Mutex(0)
        gate.execute { runs.withLock { $0 += 1 } }
        gate.close()
        gate.execute { runs.withLock { $0 += 1 } }
        try thread.loop.submit {}.wait()
        #expect(runs.withLock { $0 } == 1)
        thread.stop()
    }
}
