import CPlatform
import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarSystem
import Synchronization

/// Memory cache entries that callers' threads can return without the client's loop. Switching to the loop costs ten
/// times as much as returning an entry.
///
/// The loop has already returned each of these responses to an identical request. Within the same second of the clock,
/// and while the entry is in the cache, the loop would return the same response again. At most 256 responses are kept.
final class FreshResponses: Sendable {
    private struct Candidate {
        let request: PreparedRequest
        let options: Options
        let response: Response
        let entry: MemoryCache.Entry
        /// The second of the realtime clock in which the loop returned the response.
        let second: Int
    }

    /// The options that affect the response besides the request.
    private struct Options: Equatable {
        let policy: CachePolicy
        let decompresses: Bool
        /// The login whose token the request carries, and its generation. Nil and 0 without a login.
        let account: Int?
        let login: UInt64

        init(_ call: CallOptions, login: UInt64) {
            policy = call.cache ?? .protocol
            decompresses = call.decompresses
            account = call.login
            self.login = call.login == nil ? 0 : login
        }
    }

    private struct State {
        var candidates: [Candidate?] = Array(repeating: nil, count: FreshResponses.count)
        var isClosed = false
    }

    private let storage: CacheStorage
    private let state = Mutex(State())
    /// Incremented when later calls may use another login's token, or no token.
    private let loginGeneration = Atomic<UInt64>(1)
    /// The number of requested login changes that the loop has not made yet.
    private let pendingLoginChanges = Atomic<Int>(0)

    init(_ storage: CacheStorage) { self.storage = storage }

    /// Returns the response to a request. Any thread.
    ///
    /// - Returns: Nil if the loop must handle the call.
    func find(_ request: PreparedRequest, _ call: CallOptions) -> Response? {
        // Pending login changes are checked before the login generation is read, because a change is pending until the
        // loop has incremented the generation.
        guard call.login == nil || pendingLoginChanges.load(ordering: .acquiring) == 0 else { return nil }
        let options = Options(call, login: login)
        let place = FreshResponses.place(of: request)
        let found = state.withLock { state -> (Response, MemoryCache.Entry)? in
            guard let candidate = state.candidates[place], candidate.second == FreshResponses.second,
                candidate.request.isSame(as: request),
                candidate.options == options
            else { return nil }
            return (candidate.response, candidate.entry)
        }
        guard let (response, entry) = found, response.body.readableBytes <= call.maximumBody, storage.isCurrent,
            storage.memory.use(entry)
        else {
            return nil
        }
        storage.counts.hit(response.body.readableBytes, isStale: false)
        return response
    }

    /// Records that the loop returned `response` from `entry`.
    ///
    /// - Parameter login: The value of ``login`` when the request received its token.
    func keep(
        _ response: Response, for request: PreparedRequest, _ call: CallOptions, login: UInt64,
        of entry: MemoryCache.Entry
    ) {
        let second = FreshResponses.second
        // The clock of this class is too coarse for an entry that expires within this second.
        guard let end = entry.response.freshness.freshUntil,
            end.seconds > Int64(second) + 1
                || end.seconds == Int64(second) + 1 && end.nanoseconds >= FreshResponses.clockResolution
        else { return }
        let candidate = Candidate(
            request: request, options: Options(call, login: login), response: response, entry: entry, second: second)
        let place = FreshResponses.place(of: request)
        // The replaced value is released outside the lock.
        let previous = state.withLock { state -> Candidate? in
            guard !state.isClosed else { return nil }
            defer { state.candidates[place] = candidate }
            return state.candidates[place]
        }
        withExtendedLifetime(previous) {}
    }

    /// The generation of the login whose token the client's calls use.
    var login: UInt64 { loginGeneration.load(ordering: .acquiring) }

    /// Called when later calls may use another login's token, or no token.
    func loginChanged() { loginGeneration.add(1, ordering: .releasing) }

    /// Makes ``find(_:_:)`` return nil for calls with a login until ``loginChangeEnded()``. Any thread.
    func loginChangeBegan() { pendingLoginChanges.add(1, ordering: .sequentiallyConsistent) }

    /// Called after the loop has made the login change.
    func loginChangeEnded() { pendingLoginChanges.subtract(1, ordering: .sequentiallyConsistent) }

    /// Discards all responses when the client closes, because calls of a closed client fail.
    func close() {
        let candidates = state.withLock { state in
            state.isClosed = true
            defer { state.candidates = Array(repeating: nil, count: FreshResponses.count) }
            return state.candidates
        }
        withExtendedLifetime(candidates) {}
    }

    /// The number of slots. Two requests with the same slot replace each other.
    private static let count = 256

    private static func place(of request: PreparedRequest) -> Int {
        Int(request.fingerprint % UInt64(count))
    }

    /// The maximum lag of the coarse clock in nanoseconds: a few kernel ticks.
    private static let clockResolution: Int32 = 50_000_000

    private static var second: Int { Int(cplatform_coarse_date()) }
}

extension CallOptions {
    /// Whether the options add no requirements to the response, and insert no response.
    var acceptsAnyResponse: Bool { expectedStatuses.isEmpty && schema == nil && contract == nil && insertion == nil }
}
