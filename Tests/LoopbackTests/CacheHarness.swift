import Foundation
import NIOCore
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Synchronization
import Testing

/// A demo server with its statistics. The server runs until this object is released.
final class CacheDemo: Sendable {
    let server = DemoServer()
    let port: Int

    init() throws { port = try server.start() }

    deinit { server.stop() }

    /// Returns a client of the server. By default, it has a memory cache.
    func client(
        _ settings: CacheStorage.Settings? = .init(), _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        try NightjarLoopback.client(port: port) {
            $0.cacheSettings = settings
            configure(&$0)
        }
    }

    /// Changes the resource through another client, so the cache under test is not invalidated.
    func change(_ target: String) throws { _ = try client(nil).sendBlocking(Request(.post, target)) }

    /// The number of requests for a path, regardless of the query.
    func requests(_ path: String) -> Int { server.statistics.paths[path]?.requests ?? 0 }
    func conditional(_ path: String) -> Int { server.statistics.paths[path]?.conditional ?? 0 }
    func ranged(_ path: String) -> Int { server.statistics.paths[path]?.ranged ?? 0 }
    func notModified(_ path: String) -> Int { server.statistics.paths[path]?.notModified ?? 0 }
}

/// Makes the global function `client` accessible to types that have a method of this name.
private enum NightjarLoopback {
    static func client(port: Int, _ configure: (inout Configuration) -> Void) throws -> Client {
        try LoopbackTests.client(port: port, configure)
    }
}

extension Client {
    /// Sends a request; a GET request unless `configure` changes the method.
    @discardableResult
    func get(
        _ target: String, _ headers: [(String, String)] = [], policy: CachePolicy? = nil,
        _ configure: (inout Request) -> Void = { _ in }
    ) throws -> Response {
        try sendBlocking(.cached(target, headers, policy: policy, configure))
    }

    @discardableResult
    func write(_ target: String, _ method: Nightjar.Method = .post) throws -> Response {
        try sendBlocking(Request(method, target))
    }

    /// Sends a GET request and streams the response body.
    ///
    /// - Parameter stride: The number of bytes after which the reader waits for the disk. The cache does not store data
    ///   that arrives faster than the disk can write.
    func streamed(
        _ target: String, pausingAfter stride: Int = .max
    ) throws -> (response: Response, content: [UInt8]) {
        let content = Mutex<[UInt8]>([])
        let rest = Mutex(stride)
        var handlers = TaskHandlers { _, _ in }
        handlers.body = { [cache] _, part in
            content.withLock { $0 += part.readableBytesView }
            let isDue = rest.withLock { rest in
                rest -= part.readableBytes
                defer { if rest <= 0 { rest = stride } }
                return rest <= 0
            }
            if isDue { try? cache?.flush() }
        }
        let response = try sendBlocking(Request(.get, target), handlers: handlers)
        try cache?.flush()
        return (response, content.withLock { $0 })
    }
}

extension Request {
    static func cached(
        _ target: String, _ headers: [(String, String)] = [], policy: CachePolicy? = nil,
        _ configure: (inout Request) -> Void = { _ in }
    ) throws -> Request {
        var request = Request(.get, target)
        request.cachePolicy = policy
        for (name, value) in headers { try request.headers.add(name, value) }
        configure(&request)
        return request
    }
}

extension Response {
    /// Returns a member of the JSON line at the start of a `/cache/{name}` body.
    func reported(_ member: String) -> String? {
        let text = String(decoding: body.readableBytesView.prefix(1000), as: UTF8.self)
        let parts = text.split(separator: "\"\(member)\":", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        return String(parts[1].drop { $0 == " " || $0 == "\"" }.prefix { !"\",}\n".contains($0) })
    }

    var version: Int? { reported("version").flatMap { Int($0) } }
    var bytes: [UInt8] { Array(body.readableBytesView) }
}

/// The results of concurrent calls, by number.
final class CallResults: Sendable {
    private let all = Mutex<[Int: Result<Response, NightjarError>]>([:])

    var count: Int { all.withLock { $0.count } }
    var responses: [Response] { all.withLock { $0.values.compactMap { try? $0.get() } } }
    subscript(index: Int) -> Result<Response, NightjarError>? { all.withLock { $0[index] } }

    func handlers(_ index: Int) -> TaskHandlers {
        TaskHandlers { _, result in self.all.withLock { $0[index] = result } }
    }

    /// Polls the queue until `count` calls have ended, for at most 20 seconds.
    func wait(for count: Int, on queue: CompletionQueue, location: SourceLocation = #_sourceLocation) {
        let end = ContinuousClock.now + .seconds(20)
        while self.count < count, ContinuousClock.now < end { queue.poll(timeout: .milliseconds(50)) }
        #expect(self.count == count, sourceLocation: location)
    }
}

/// A thread that runs a test's calls.
final class RunningThread: Sendable {
    private let isDone = Latch()
    private let error = Mutex<(any Error)?>(nil)

    init(_ body: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread { [self] in
            do { try body() } catch { self.error.withLock { $0 = error } }
            isDone.open()
        }
    }

    func join() throws {
        try isDone.wait(within: .seconds(60))
        if let error = error.withLock({ $0 }) { throw error }
    }
}

/// Returns the paths of the files that this process has open.
func openFiles() -> [String] {
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
}
