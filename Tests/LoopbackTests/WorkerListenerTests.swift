import Glibc
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport
import Testing

@testable import Nightjar
@testable import NightjarDaemon

/// The local socket of a worker, with the peers in this process.
@Suite struct WorkerListenerTests {
    private let folder: TemporaryDirectory
    private let listener: WorkerListener
    private let path: String
    private let progress: WorkerMessage.Progress = [1: TransferProgress(transferred: 1, total: 2, rate: nil)]

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("run/s")
        listener = WorkerListener(try JournalWorkerSocket.listen(path), ownPath: path)
    }

    private func connect() throws -> Int32 { try #require(JournalWorkerSocket.connect(path)) }

    /// Lets the listener work until it has nothing to do.
    private func work() {
        for _ in 0..<4 { listener.wait(for: -1, timeout: .zero) { progress } }
    }

    /// Reads what has arrived. Nil if the connection is open and has no bytes.
    private func received(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 && errno == EAGAIN ? nil : Array(buffer.prefix(max(count, 0)))
    }

    @Test(arguments: 0...WorkerMessage.request.count) func requestMayBeSplit(at place: Int) throws {
        let client = try connect()
        defer { close(client) }
        let bytes = WorkerMessage.request
        for part in [bytes[..<place], bytes[place...]] where !part.isEmpty {
            work()
            #expect(received(client) == nil)
            #expect(Array(part).withUnsafeBytes { write(client, $0.baseAddress, $0.count) } == part.count)
        }
        work()
        #expect(WorkerMessage.progress(from: received(client) ?? []) == progress)
        #expect(received(client) == [])
    }

    @Test func longLineClosesTheConnection() throws {
        let client = try connect()
        defer { close(client) }
        work()
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: WorkerMessage.largestRequest)
        #expect(line.withUnsafeBytes { write(client, $0.baseAddress, $0.count) } == line.count)
        work()
        #expect(received(client) != nil)
    }

    @Test func peerThatLeavesIsForgotten() throws {
        for sends in [false, true] {
            let client = try connect()
            if sends { _ = WorkerMessage.request.withUnsafeBytes { write(client, $0.baseAddress, $0.count) } }
            close(client)
            work()
        }
        let client = try connect()
        defer { close(client) }
        _ = WorkerMessage.request.withUnsafeBytes { write(client, $0.baseAddress, $0.count) }
        work()
        #expect(received(client)?.isEmpty == false)
    }

    /// Idle peers delay others for two seconds at most, also if there are many.
    @Test func idlePeersAreClosed() throws {
        let idle = try (0..<40).map { _ in try connect() }
        defer { for each in idle { close(each) } }
        let client = try connect()
        defer { close(client) }
        _ = WorkerMessage.request.withUnsafeBytes { write(client, $0.baseAddress, $0.count) }
        let start = ContinuousClock.now
        var response: [UInt8]?
        while response == nil, ContinuousClock.now - start < .seconds(60) {
            listener.wait(for: -1, timeout: .milliseconds(50)) { progress }
            response = received(client)
        }
        #expect(WorkerMessage.progress(from: response ?? []) == progress)
    }

    /// A peer that sends a byte now and then gets no more time than an idle one.
    @Test func slowPeerIsClosed() throws {
        let client = try connect()
        defer { close(client) }
        let start = ContinuousClock.now
        while received(client) == nil, ContinuousClock.now - start < .seconds(60) {
            send(client, "x", 1, Int32(MSG_NOSIGNAL))
            listener.wait(for: -1, timeout: .milliseconds(20)) { progress }
        }
        #expect(ContinuousClock.now - start < .seconds(60))
    }

    /// A download ends after its entry was read as running, and before the worker reports the progress.
    @Test(arguments: [false, true]) func endDuringARequestOfTheProgressIsFound(lists: Bool) async throws {
        // The program waits half a second for the worker. On a slow machine, it may take several attempts.
        for attempt in 0..<100 {
            let start = ContinuousClock.now
            let found = try await transferThatEndsDuringARequest(folder.file("journal-\(attempt).db"), lists: lists)
            guard ContinuousClock.now - start < .milliseconds(400) else { continue }
            #expect(found?.state == .done && found?.transferred == 5 && found?.path == "/a")
            return
        }
        Issue.record("each request of the progress took longer than the program waits")
    }

    private func transferThatEndsDuringARequest(_ path: String, lists: Bool) async throws -> BackgroundTransfer? {
        let transfers = try Transfers(journal: path)
        let target = folder.file("file")
        try transfers.start("one", json: "{\"download\": \"http://localhost:1/file\", \"to\": \"\(target)\"}")
        let journal = Journal(path: path)
        let lease = try #require(try journal.take(id: "one", for: .seconds(60)))
        let socket = try JournalWorkerSocket.path(ofWorker: path)
        let descriptor = try JournalWorkerSocket.listen(socket)
        async let worker: Void = onOwnThread {
            let listener = WorkerListener(descriptor, ownPath: socket)
            let start = ContinuousClock.now
            while try journal.entry("one")?.phase == .running, ContinuousClock.now - start < .seconds(60) {
                listener.wait(for: -1, timeout: .milliseconds(20)) {
                    try? journal.finish(lease, as: .done, result: Array(#"{"path": "/a", "size": 5}"#.utf8))
                    return [:]
                }
            }
            // The response is written by the next wait.
            listener.wait(for: -1, timeout: .milliseconds(20)) { [:] }
        }
        let found = try await onOwnThread { lists ? try transfers.list().first : try transfers.get("one") }
        try await worker
        return found
    }

    @Test func socketIsRemovedAtTheEnd() throws {
        let socket = folder.file("run/other")
        do {
            let own = WorkerListener(try JournalWorkerSocket.listen(socket), ownPath: socket)
            own.wait(for: -1, timeout: .zero) { [:] }
            #expect(access(socket, F_OK) == 0)
        }
        #expect(access(socket, F_OK) != 0)
    }
}
