import Nightjar
import NightjarTestSupport
import Synchronization

/// A challenge callback of a test, and the challenges that it has received.
final class ChallengeRecord: Sendable {
    typealias Challenge = Authentication.Challenge

    private let received = Mutex<[Challenge.Kind]>([])
    private let counts = Mutex<[Int]>([])
    private let kept = Mutex<[Challenge]>([])
    private let respond: @Sendable (Challenge, Int) -> Challenge.Response?

    /// - Parameter respond: Returns the response to a challenge, whose number starts at 0. Nil: the test responds later
    ///   with ``respond(_:_:)``.
    init(_ respond: @escaping @Sendable (Challenge, Int) -> Challenge.Response?) { self.respond = respond }

    func handler(onLoop: Bool = true) -> Authentication.ChallengeHandler {
        Authentication.ChallengeHandler(runsOnLoop: onLoop) { [self] challenge in
            let number = received.withLock { kinds in
                kinds.append(challenge.kind)
                return kinds.count - 1
            }
            counts.withLock { $0.append(challenge.rejections) }
            if let response = respond(challenge, number) {
                try? challenge.respond(response)
            } else {
                kept.withLock { $0.append(challenge) }
            }
        }
    }

    var kinds: [Challenge.Kind] { received.withLock { $0 } }
    var count: Int { kinds.count }
    var rejections: [Int] { counts.withLock { $0 } }
    var names: [String] {
        kinds.map { kind in
            switch kind {
            case .http: "http"
            case .clientCertificate: "client_certificate"
            case .serverTrust: "server_trust"
            }
        }
    }

    /// Waits for the kept challenge with this number and returns it. The record still retains it.
    func keptChallenge(_ number: Int = 0) throws -> Challenge {
        try eventually("a challenge was kept", within: .seconds(20)) { kept.withLock { $0.count > number } }
        return kept.withLock { $0[number] }
    }

    func releaseKept() { kept.withLock { $0 = [] } }
}

/// The results of calls that were started on a queue.
final class ChallengedCalls: Sendable {
    private let all = Mutex<[Result<Response, NightjarError>]>([])

    var handlers: TaskHandlers { TaskHandlers { _, result in self.all.withLock { $0.append(result) } } }
    var count: Int { all.withLock { $0.count } }
    var texts: [String?] { all.withLock { $0.map { try? $0.get().text } } }
    var kinds: [NightjarError.Kind] {
        all.withLock { $0.compactMap { if case .failure(let error) = $0 { error.kind } else { nil } } }
    }

    /// Polls the queue until `count` calls have ended.
    func await(_ count: Int, on queue: CompletionQueue) throws {
        try eventually("\(count) calls have ended", within: .seconds(10)) {
            queue.poll(timeout: .milliseconds(20))
            return self.count >= count
        }
    }
}
