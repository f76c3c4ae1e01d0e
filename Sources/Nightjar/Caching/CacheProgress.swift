import NIOCore
import NightjarHTTP
import NightjarStorage

extension Cache {
    /// What one exchange of a call has to do with the cache.
    final class Progress: CallState {
        let asked: CacheRequest
        let key: CacheKey
        /// Of the login whose token the request carries; nil: of none.
        let login: CachePartition?
        let member: SharedFetches.Member
        /// The request without conditions of ours.
        let plain: PreparedRequest
        /// The changes that were known when the request was sent, or before.
        var began: CacheMoment
        /// What is stored, as far as it has been looked for.
        var entries: [CachedEntry]
        var hasAskedDisk = false
        /// What goes to the server, if anything does.
        var fetch: CacheFetch?
        var isInLine = false
        var leads = false
        /// Has been in line. It is not again.
        var hasWaited = false
        /// What is to be sent was decided before.
        var isDecided = false
        var reading = Reading.nothing
        var isRefresh = false
        /// Whether the call's timeout expired while the call shared an exchange with others.
        private(set) var isTakenOver = false
        var forwardedStatus: Int?
        var requested = Timestamp.epoch
        var received = Timestamp.epoch
        var announced: Int?
        var fill: CacheFill?
        let storage: CacheStorage
        /// The entry that the answer is of, where any thread may give it again.
        var plainHit: MemoryCache.Entry?
        /// Where the answer came from.
        var source = ResponseSource.network

        init(
            _ asked: CacheRequest, _ key: CacheKey, login: CachePartition?, _ member: SharedFetches.Member,
            _ plain: PreparedRequest, began: CacheMoment, entries: [CachedEntry], in storage: CacheStorage
        ) {
            self.asked = asked
            self.key = key
            self.login = login
            self.member = member
            self.plain = plain
            self.began = began
            self.entries = entries
            self.storage = storage
        }

        /// A copy of the entries found so far, for a call that does not wait for other calls and fetches nothing for
        /// them.
        var copy: Progress {
            // Member 0 is in no wait queue.
            let copy = Progress(asked, key, login: login, 0, plain, began: began, entries: entries, in: storage)
            copy.hasAskedDisk = hasAskedDisk
            copy.fetch = fetch
            copy.hasWaited = true
            copy.isTakenOver = true
            if case .replay = reading { copy.reading = .replay }
            return copy
        }

        /// The head of an answer has come.
        func note(_ call: Call) {
            received = WallClock.now()
            requested = received.earlier(byNanoseconds: call.delay)
        }

        /// The stale answer that may stand in for a failure by now.
        var fallback: Int? {
            guard let fallback = fetch?.fallback, fallback.until > WallClock.now() else { return nil }
            return fallback.index
        }

        /// Content that has gone on to the caller.
        func passed(_ bytes: ByteBuffer) {
            guard case .storable = reading else { return }
            if fill == nil { fill = CacheFill(storage, announced: announced) }
            fill?.append(bytes)
        }
    }

    /// What the answer is that is being read.
    enum Reading {
        /// Nothing to the cache.
        case nothing
        case storable(StoredResponse)
        /// This one of the entries holds.
        case notModified(Int, ResponseHead)
        /// A failure that this one of the entries may stand in for.
        case failure(Int)
        /// One of ours, from the disk.
        case replay
    }
}
