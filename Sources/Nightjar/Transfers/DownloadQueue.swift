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

        /// Splits the write at the last limit of a block in the file. Nil if there is none inside of the write.
        func split(at block: Int) -> (whole: Write, rest: Write)? {
            let excess = (offset + bytes.readableBytes) % block
            let count = bytes.readableBytes - excess
            guard excess > 0, count > 0, let rest = bytes.getSlice(at: bytes.readerIndex + count, length: excess),
                let whole = bytes.getSlice(at: bytes.readerIndex, length: count)
            else { return nil }
            return (
                Write(connection: connection, bytes: whole, offset: offset, credit: credit - excess),
                Write(connection: connection, bytes: rest, offset: offset + count, credit: excess)
            )
        }
    }

    private enum Job {
        case write(Write)
        case work(@Sendable (PartFile) throws(NightjarError) -> Void, then: (Result<Void, NightjarError>) -> Void)
        /// Runs on the loop.
        case run(() -> Void)
    }

    private let loop: ClientLoop
    private let part: PartFile
    /// The bytes that are written at once, if they arrive quickly.
    private let batch: Int
    private let written: ([Write]) -> Void
    private let failed: (NightjarError) -> Void
    private var jobs = Deque<Job>()
    /// The number of jobs that are writes, and their bytes.
    private var writes = (count: 0, bytes: 0)
    private var isWorking = false
    /// Whether the writes must not wait for further bytes any more.
    private var mustWrite = false
    private var isTimerRunning = false
    /// Changes when the pending operations are discarded. Results of earlier ones are then ignored.
    private var generation = 0

    /// - Parameters:
    ///   - window: The number of bytes that a connection can receive before they are written. A connection that has received
    ///     them receives more when half of them are written, so that this half must not wait for further bytes.
    ///   - written: Called with the writes that have succeeded.
    ///   - failed: Called after a write has failed.
    init(
        _ part: PartFile, window: Int, on loop: ClientLoop, _ written: @escaping ([Write]) -> Void,
        failed: @escaping (NightjarError) -> Void
    ) {
        self.loop = loop
        self.part = part
        batch = min(DownloadQueue.largestBatch, window / 2)
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
        writes = (0, 0)
        generation += 1
    }

    private func add(_ job: Job) {
        jobs.append(job)
        if case .write(let write) = job {
            writes.count += 1
            writes.bytes += write.bytes.readableBytes
        }
        proceed()
    }

    private func proceed() {
        while !isWorking, let job = jobs.first {
            switch job {
            case .run(let body):
                jobs.removeFirst()
                body()
            case .work(let body, let deliver):
                jobs.removeFirst()
                start { part throws(NightjarError) in
                    try body(part)
                } then: {
                    deliver($0)
                }
            case .write:
                if isCollecting { return }
                write()
            }
        }
    }

    /// Whether the writes wait for further bytes, so that fewer operations write them. Starts a timer in this case.
    private var isCollecting: Bool {
        guard !mustWrite, writes.count == jobs.count, writes.bytes < batch else { return false }
        guard !isTimerRunning else { return true }
        isTimerRunning = true
        loop.after(DownloadQueue.longestCollection) { [weak self] in
            guard let self else { return }
            (isTimerRunning, mustWrite) = (false, true)
            proceed()
        }
        return true
    }

    /// Performs all writes at the front of the queue at once.
    private func write() {
        var batch: [Write] = []
        while case .write(let next)? = jobs.first {
            batch.append(next)
            jobs.removeFirst()
            writes.bytes -= next.bytes.readableBytes
        }
        writes.count -= batch.count
        // Longer runs of bytes need fewer operations. Bytes of a cancelled connection are received again by another one.
        batch = batch.filter { !$0.connection.isCancelled }.sorted { $0.offset < $1.offset }
        if !mustWrite, jobs.isEmpty { holdBack(&batch) }
        mustWrite = false
        let count = Count()
        start { [batch] part throws(NightjarError) in
            while count.value < batch.count {
                let run = DownloadQueue.run(batch[count.value...])
                try part.write(run.map(\.bytes), at: run[run.startIndex].offset) { count.value += $0 }
            }
        } then: { [self, batch] result in
            written(Array(batch.prefix(count.value)))
            if case .failure(let error) = result { failed(error) }
        }
    }

    /// Keeps the bytes after the last whole block of each run for the next batch. Writes of whole blocks are cheaper.
    private func holdBack(_ batch: inout [Write]) {
        for index in batch.indices {
            let next = batch.index(after: index)
            let end = batch[index].offset + batch[index].bytes.readableBytes
            guard next == batch.endIndex || batch[next].offset != end,
                let (whole, rest) = batch[index].split(at: PartFile.block)
            else { continue }
            batch[index] = whole
            jobs.append(.write(rest))
            writes.count += 1
            writes.bytes += rest.bytes.readableBytes
        }
    }

    /// Returns the first writes as far as they follow each other in the file.
    private static func run(_ writes: ArraySlice<Write>) -> ArraySlice<Write> {
        var end: Int?
        return writes.prefix { write in
            defer { end = write.offset + write.bytes.readableBytes }
            return end == nil || end == write.offset
        }
    }

    private func start(
        _ body: @escaping @Sendable (PartFile) throws(NightjarError) -> Void,
        then deliver: @escaping (Result<Void, NightjarError>) -> Void
    ) {
        isWorking = true
        let generation = generation
        let delivery = Delivery(body: deliver)
        loop.transferWorkers.run("writing a download") { [part] () throws(NightjarError) in
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

    private static let largestBatch = 512 << 10
    /// The longest time that received bytes wait for others.
    private static let longestCollection = Duration.milliseconds(20)
}
