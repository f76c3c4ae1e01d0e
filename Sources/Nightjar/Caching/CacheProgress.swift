import NIOCore
import NightjarHTTP
import NightjarStorage

extension Cache {
    /// The facts about a call's request that the cache uses.
    struct Subject {
        let cacheRequest: CacheRequest
        let key: CacheKey
        /// The partition of the login whose token the request carries, or nil.
        let login: CachePartition?
        /// The request without conditional fields added by the cache.
        let plain: PreparedRequest
    }

    func subject(of call: Call, _ policy: CachePolicy) -> Subject {
        let facts = call.request.cacheFacts(loginCookies)
        return Subject(
            cacheRequest: facts.cacheRequest(policy, acceptsDecoded: call.options.decompresses),
            key: storage.successors.resolve(facts.key(login: call.loginPartition), call.request.url.origin),
            login: call.loginPartition, plain: call.request)
    }

    /// The cache state of one exchange of a call.
    final class Progress: CallState {
        let cacheRequest: CacheRequest
        let key: CacheKey
        /// The partition of the login whose token the request carries, or nil.
        let login: CachePartition?
        let member: SharedFetches.Member
        /// The request without conditional fields added by the cache.
        let plain: PreparedRequest
        /// The cache changes that were known when the request was sent, or earlier.
        var began: CacheMoment
        /// The entries found so far.
        var entries: [CachedEntry]
        var hasQueriedDisk = false
        /// The request to the server; nil before the cache has decided, if no request is needed, and for a POST.
        var fetch: CacheFetch?
        var isQueued = false
        var isLeader = false
        /// Whether the call has waited for another call, or must not wait. A call waits at most once in each exchange.
        var hasWaited = false
        /// Whether the request to send has already been decided.
        var isDecided = false
        var reading = Reading.nothing
        var isRefresh = false
        /// Whether the program is deciding whether the response is stored.
        var isDeciding = false
        /// Whether the call's timeout expired while the call shared an exchange with others.
        private(set) var isPromoted = false
        var forwardedStatus: Int?
        var requested = Timestamp.epoch
        var received = Timestamp.epoch
        var announced: Int?
        var fill: CacheFill?
        let storage: CacheStorage
        /// The entry of the response, if callers' threads may return the same response again.
        var plainHit: MemoryCache.Entry?
        /// The value of ``FreshResponses/login`` when the request received its token.
        var freshLogin: UInt64 = 0
        /// The source of the response.
        var source = ResponseSource.network

        init(
            _ subject: Subject, _ member: SharedFetches.Member, began: CacheMoment, entries: [CachedEntry] = [],
            in storage: CacheStorage
        ) {
            cacheRequest = subject.cacheRequest
            key = subject.key
            login = subject.login
            plain = subject.plain
            self.member = member
            self.began = began
            self.entries = entries
            self.storage = storage
        }

        /// A copy of this state for a call that continues without other calls.
        var copy: Progress {
            // Member 0 is in no wait queue.
            let subject = Subject(cacheRequest: cacheRequest, key: key, login: login, plain: plain)
            let copy = Progress(subject, 0, began: began, entries: entries, in: storage)
            copy.hasQueriedDisk = hasQueriedDisk
            copy.fetch = fetch
            copy.hasWaited = true
            copy.isPromoted = true
            copy.freshLogin = freshLogin
            if case .replay = reading { copy.reading = .replay }
            return copy
        }

        /// Records when the response head was received and when the request was sent.
        func note(_ call: Call) {
            received = WallClock.now()
            requested = received.earlier(byNanoseconds: call.delay)
        }

        /// The index of the stale entry that may replace a failure now, or nil.
        var fallback: Int? {
            guard let fallback = fetch?.fallback, fallback.until > WallClock.now() else { return nil }
            return fallback.index
        }

        /// Stores body bytes that were delivered to the caller.
        func passed(_ bytes: ByteBuffer) {
            guard case .storable = reading else { return }
            if fill == nil { fill = CacheFill(storage, announced: announced) }
            fill?.append(bytes)
        }
    }

    /// How the cache uses the response in progress.
    enum Reading {
        /// The cache does not use the response.
        case nothing
        case storable(StoredResponse)
        /// A 304 response for the entry with this index.
        case notModified(Int, ResponseHead)
        /// A failure that the entry with this index may replace.
        case failure(Int)
        /// A stored response that is replayed, from memory or from disk.
        case replay
    }
}
