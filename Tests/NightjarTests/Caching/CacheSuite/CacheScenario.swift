import NIOCore
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar
@testable import NightjarHTTP

/// A sequence of requests to one server, and the expected behavior of a private cache for each of them.
struct CacheScenario: Sendable, CustomTestStringConvertible {
    /// Where the responses are stored.
    enum Place: CaseIterable, Sendable {
        case memory, disk
        /// On disk. The client is closed and opened again before each request except the first.
        case restartedDisk
    }

    enum Outcome: Equatable, Sendable {
        /// The stored response is returned, and the server receives nothing.
        case hit
        /// The stored response is returned immediately, and the server receives a request in the background.
        case hitAndRefresh
        /// The server receives nothing, and the caller gets this status and content.
        case returned(Int, String)
        /// The server receives the request, and its response is returned.
        case miss
        /// The server receives a conditional request and responds with 304, and the stored response is returned.
        case validated
        /// The server receives the request and closes the connection, and the call fails.
        case failure
    }

    struct Step: Sendable {
        var method = Method.get
        var target = "/a"
        var policy: CachePolicy?
        var request: [(String, String)] = []
        var status = 200
        var response: [(String, String)] = []
        var body = "content"
        var outcome = Outcome.miss
        /// Fields of the returned response; nil: the field must be absent.
        var fields: [(String, String?)] = []
        /// Fields of the request that the server receives; nil: the field must be absent.
        var sent: [(String, String?)] = []
        /// The minimum Age of the returned response, in seconds.
        var leastAge: Int?
        /// The time that passes after the step.
        var pause = Duration.zero
    }

    /// The section of RFC 9111, or the name of another RFC and its section.
    let section: String
    let name: String
    let steps: [Step]
    var testDescription: String { "\(section): \(name)" }

    init(_ section: String, _ name: String, _ steps: [Step]) {
        (self.section, self.name, self.steps) = (section, name, steps)
    }

    init(_ section: String, _ name: String, _ steps: Step...) { self.init(section, name, steps) }

    /// Runs all steps.
    ///
    /// - Returns: the differences from the expected behavior.
    func problems(in place: Place) async throws -> [String] {
        let folder = try TemporaryDirectory()
        let run = try Run(place, folder: folder.file("c"))
        for (index, step) in steps.enumerated() {
            try run.perform(step, "request \(index + 1)", isFirst: index == 0)
            if step.pause > .zero { try await Task.sleep(for: step.pause) }
        }
        withExtendedLifetime(folder) {}
        return run.problems
    }
}

/// One run of a scenario.
private final class Run {
    private(set) var problems: [String] = []
    private let place: CacheScenario.Place
    private let settings: CacheStorage.Settings
    private let current = Current()
    private var bench: CacheTests.Bench
    /// The status and body of the response that is expected to be stored.
    private var stored = (status: 200, body: "")

    /// The step that the server responds to.
    private final class Current: Sendable {
        let step = Mutex<CacheScenario.Step?>(nil)
    }

    init(_ place: CacheScenario.Place, folder: String) throws {
        self.place = place
        settings =
            place == .memory
            ? CacheStorage.Settings() : CacheStorage.Settings(memory: 0, disk: 10 << 20, folder: folder)
        bench = try Run.makeBench(settings, current)
    }

    private static func makeBench(_ settings: CacheStorage.Settings, _ current: Current) throws -> CacheTests.Bench {
        try CacheTests.Bench(settings, { $0.redirect.follows = false }) { _, _ in
            guard let step = current.step.withLock({ $0 }) else { return .init(500) }
            switch step.outcome {
            case .validated: return .init(304, step.response)
            case .failure: return .failing(.connectionLost)
            case .hit, .hitAndRefresh, .returned, .miss: return .init(step.status, step.response, step.body)
            }
        }
    }

    func perform(_ step: CacheScenario.Step, _ name: String, isFirst: Bool) throws {
        if place == .restartedDisk, !isFirst {
            bench.client.close()
            bench = try Run.makeBench(settings, current)
        }
        current.step.withLock { $0 = step }
        let before = bench.requested.count
        let result = Result { try send(step) }
        if step.outcome == .hitAndRefresh {
            try eventually("the server has received the refresh", within: .seconds(5)) {
                bench.requested.count > before
            }
        }
        try bench.client.cache?.flush()
        let requested = Array(bench.requested.dropFirst(before))
        switch result {
        case .success(let response):
            expect(step.outcome != .failure, "\(name): the call succeeded with \(response.status)")
            check(response, requested, step, name)
        case .failure(let error):
            expect(step.outcome == .failure && !requested.isEmpty, "\(name) failed: \(error)")
        }
        for (field, value) in step.sent {
            expect(
                requested.first?.headers[field] == value,
                "\(name): the request has \(field) \(describe(requested, field))")
        }
        if step.outcome == .miss, step.method == .get { stored = (step.status, step.body) }
    }

    private func send(_ step: CacheScenario.Step) throws -> Response {
        var request = try CacheTests.Bench.request(step.method, step.target, step.policy, step.request)
        request.expectedStatuses = [StatusRange(100, 599)]
        if !step.method.isSafe { request.body = .bytes(ByteBuffer(string: "x")) }
        return try bench.client.sendBlocking(request)
    }

    private func check(
        _ response: Response, _ requested: [ServerInMemory.Requested], _ step: CacheScenario.Step, _ name: String
    ) {
        let isConditional = requested.contains { requested in
            ["If-None-Match", "If-Modified-Since"].contains { field in
                requested.headers[field] != nil && !step.request.contains { $0.0 == field }
            }
        }
        let body = String(buffer: response.body)
        let isStored = response.status == stored.status && (step.method == .head || body == stored.body)
        switch step.outcome {
        case .hit:
            expect(requested.isEmpty, "\(name): the server received a request")
            expect(isStored, "\(name): \(response.status) \(body)")
        case .hitAndRefresh:
            expect(requested.count == 1 && isStored, "\(name): \(requested.count) requests, \(response.status) \(body)")
        case .returned(let status, let content):
            expect(requested.isEmpty, "\(name): the server received a request")
            expect(response.status == status && body == content, "\(name): \(response.status) \(body)")
        case .miss:
            expect(requested.count == 1, "\(name): the server received no request")
            expect(response.status == step.status, "\(name): \(response.status)")
        case .validated:
            expect(requested.count == 1 && isConditional, "\(name): the stored response was not validated")
            expect(isStored, "\(name): \(response.status) \(body)")
        case .failure: break
        }
        for (field, value) in step.fields {
            expect(response.headers[field] == value, "\(name): \(field) is \(response.headers[field] ?? "absent")")
        }
        if let least = step.leastAge {
            let age = response.headers["age"] ?? "absent"
            expect(Int(age).map { $0 >= least } == true, "\(name): Age is \(age)")
        }
    }

    private func expect(_ holds: Bool, _ problem: @autoclosure () -> String) {
        if !holds { problems.append(problem()) }
    }

    private func describe(_ requested: [ServerInMemory.Requested], _ field: String) -> String {
        requested.first?.headers[field] ?? "absent"
    }
}
