import Glibc
import NIOCore
import NightjarHTTP
import NightjarStorage
import Synchronization

/// Answers of the memory cache that need no thought, for the threads of callers: to cross to the client's loop costs ten times
/// what such an answer does (DESIGN section 2).
///
/// The loop has just given each of them to a request that was the same to the byte, by all rules; within the same second of
/// the clock, and while the entry is the one in the cache, it would give it again. A handful is kept.
final class FreshAnswers: Sendable {
    private struct Answer {
        let request: PreparedRequest
        let options: Options
        let response: Response
        let entry: MemoryCache.Entry
        /// Of the clock.
        let second: Int
    }

    /// What else than the request has a say.
    struct Options: Equatable {
        let policy: CachePolicy
        let decompresses: Bool
        /// Which of the client's logins, where its token goes along, and as of when; else nil and 0.
        let account: Int?
        let login: UInt64
    }

    private struct State {
        var answers: [Answer?] = Array(repeating: nil, count: FreshAnswers.count)
        var isClosed = false
    }

    private let storage: CacheStorage
    private let state = Mutex(State())
    /// Changes when somebody signs in or out.
    let login = Atomic<UInt64>(1)

    init(_ storage: CacheStorage) { self.storage = storage }

    /// From any thread.
    ///
    /// - Returns: nil where the loop has to be asked.
    func find(_ request: PreparedRequest, _ options: Options, maximumBody: Int) -> Response? {
        let place = FreshAnswers.place(of: request)
        let found = state.withLock { state -> (Response, MemoryCache.Entry)? in
            guard let answer = state.answers[place], answer.second == FreshAnswers.second,
                answer.request.isSame(as: request),
                answer.options == options
            else { return nil }
            return (answer.response, answer.entry)
        }
        guard let (response, entry) = found, response.body.readableBytes <= maximumBody, storage.isCurrent,
            storage.memory.use(entry)
        else {
            return nil
        }
        storage.counts.hit(response.body.readableBytes, isStale: false)
        return response
    }

    /// From the loop: `response` was given out of `entry`.
    func keep(_ response: Response, for request: PreparedRequest, _ options: Options, of entry: MemoryCache.Entry) {
        let second = FreshAnswers.second
        // An entry that expires within this second is left to the loop, whose clock is precise.
        guard let end = entry.response.freshness.freshUntil,
            end.seconds > Int64(second) + 1
                || end.seconds == Int64(second) + 1 && end.nanoseconds >= FreshAnswers.clockLag
        else { return }
        let answer = Answer(
            request: request, options: options, response: response, entry: entry, second: second)
        let place = FreshAnswers.place(of: request)
        // Whatever it replaces ends behind the lock.
        let previous = state.withLock { state -> Answer? in
            guard !state.isClosed else { return nil }
            defer { state.answers[place] = answer }
            return state.answers[place]
        }
        withExtendedLifetime(previous) {}
    }

    /// The client is closed: its calls fail.
    func close() {
        let answers = state.withLock { state in
            state.isClosed = true
            defer { state.answers = Array(repeating: nil, count: FreshAnswers.count) }
            return state.answers
        }
        withExtendedLifetime(answers) {}
    }

    /// Some of those that are asked for again and again; two of one place take turns.
    private static let count = 256

    private static func place(of request: PreparedRequest) -> Int {
        Int(request.fingerprint % UInt64(count))
    }

    /// Nanoseconds by which the coarse clock may be late: some ticks of the kernel.
    private static let clockLag: Int32 = 50_000_000

    private static var second: Int {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &now)
        return now.tv_sec
    }
}

extension CallOptions {
    /// Whatever answer there is, is the call's.
    var hasNoSay: Bool { expectedStatuses.isEmpty && schema == nil && contract == nil && planted == nil }
}

extension FreshAnswers {
    func options(of call: CallOptions) -> Options {
        Options(
            policy: call.cache ?? .protocol, decompresses: call.decompresses, account: call.login,
            login: call.login != nil ? login.load(ordering: .acquiring) : 0)
    }
}
