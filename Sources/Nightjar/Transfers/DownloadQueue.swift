import DequeModule
import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTransport

/// The operations on a download's part, which run on worker threads, one after the other. Used on the client's loop.
final class DownloadQueue: @unchecked Sendable {
    /// Bytes to write, and the connection that has received them.
    struct Write: Sendable {
        let connection: DownloadConnection
        let bytes: ByteBuffer
        let offset: Int
        /// The bytes that the connection can receive again after this write.
        let credit: Int
    }

    private enum Job {
        case write(Write)
        case work(@Sendable (PartFile) throws(NightjarError) -> Void, then: (Result<Void, NightjarError>) -> Void)
        /// Runs on the loop.
        case run(() -> Void)
    }

    private let workers: WorkerThreads
    private let part: PartFile
    private let written: ([Write]) -> Void
    private let failed: (NightjarError) -> Void
    private var jobs = Deque<Job>()
    private var isWorking = false
    /// Changes when the pending operations are discarded. Results of earlier ones are then ignored.
    private var generation = 0

    /// - Parameters:
    ///   - written: Called with the writes that have succeeded.
    ///   - failed: Called after a write has failed.
    init(
        _ part: PartFile, on workers: WorkerThreads, written: @escaping ([Write]) -> Void,
        failed: @escaping (NightjarError) -> Void
    ) {
        self.workers = workers
        self.part = part
        self.written = written
        self.failed = failed
    }

    func write(_ write: Write) { add(.write(write)) }

    /// Runs an operation on a worker thread, and then `deliver` on the loop.
    func work(
        _ body: @escaping @Sendable (PartFile) throws(NightjarError) -> Void,
        then deliver: @escaping (Result<Void, NightjarError>) -> Void
    ) {
        add(.work(body, then: deliver))
    }

    /// Runs `body` on the loop, after the operations that were added before.
    func run(_ body: @escaping () -> Void) { add(.run(body)) }

    /// Discards the operations that have not started, and ignores the result of the one that has.
    func discard() {
        jobs.removeAll()
        generation += 1
    }

    private func add(_ job: Job) {
        jobs.append(job)
        proceed()
    }

    private func proceed() {
        while !isWorking, let job = jobs.popFirst() {
            switch job {
            case .run(let body): body()
            case .work(let body, let deliver):
                start { part throws(NightjarError) in
                    try body(part)
                } then: {
                    deliver($0)
                }
            case .write(let first): write(startingWith: first)
            }
        }
    }

    /// Performs all writes at the front of the queue at once.
    private func write(startingWith first: Write) {
        var writes = [first]
        while case .write(let next)? = jobs.first {
            writes.append(next)
            jobs.removeFirst()
        }
        let count = Count()
        start { [writes] part throws(NightjarError) in
            for write in writes {
                try part.write(write.bytes, at: write.offset)
                count.value += 1
            }
        } then: { [self] result in
            written(Array(writes.prefix(count.value)))
            if case .failure(let error) = result { failed(error) }
        }
    }

    private func start(
        _ body: @escaping @Sendable (PartFile) throws(NightjarError) -> Void,
        then deliver: @escaping (Result<Void, NightjarError>) -> Void
    ) {
        isWorking = true
        let generation = generation
        let delivery = Delivery(body: deliver)
        workers.run("writing a download") { [part] () throws(NightjarError) in
            try body(part)
        } then: { [self] result in
            isWorking = false
            if generation == self.generation { delivery.body(result) }
            proceed()
        }
    }

    /// The number of writes that have succeeded. Written on a worker thread, and then read on the loop.
    private final class Count: @unchecked Sendable {
        var value = 0
    }

    /// Runs on the loop.
    private struct Delivery: @unchecked Sendable {
        let body: (Result<Void, NightjarError>) -> Void
    }
}
