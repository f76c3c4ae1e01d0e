import NIOCore
import NightjarHTTP
import NightjarStorage

// Responding from the cache.

extension Cache {
    func serve(
        _ hit: CacheHit, _ progress: Progress, _ call: Call, updated: StoredResponse? = nil
    ) -> Verdict {
        let entry = progress.entries[hit.index]
        let stored = updated ?? entry.response
        // A response that replaces a failure is not reported as shared, even if the call waited for another call
        // before.
        progress.source = hit.source(isShared: progress.hasWaited && hit.because != .staleIfError)
        var status = CacheStatus(hit)
        if let fetch = progress.fetch {
            status.isHit = false
            status.forwarded = fetch.because
            status.forwardedStatus = progress.forwardedStatus
            status.isCollapsed = progress.hasWaited
            status.isStored = hit.because == .validated
        }
        let head = stored.head(for: hit, status)
        let count = progress.cacheRequest.method == .head ? 0 : head.contentLength ?? 0
        guard !call.collectsBody || call.task.handlers.body != nil || count <= call.options.maximumBody else {
            return .fail(.tooLarge(call.options.maximumBody))
        }
        call.decide(.cache(.hit(hit.because, age: hit.age), key: call.request.url))
        call.report(.cacheHit(hit.source(isShared: false), age: .seconds(hit.age)))
        if hit.because == .validated {
            storage.counts.validated(count)
        } else {
            storage.counts.hit(count, isStale: hit.isStale)
        }
        switch entry {
        case .memory(let entry):
            storage.memory.use(entry)
            if hit.isPlain, call.isPlain, !progress.cacheRequest.limitsAge { progress.plainHit = entry }
            var content = count == 0 ? ByteBuffer() : entry.body
            if case .part(let range) = hit.form {
                content =
                    entry.body.getSlice(at: entry.body.readerIndex + range.lowerBound, length: range.count) ?? content
            }
            return serve(head, stored.trailers, content, progress, call)
        case .disk(let entry) where count > 0:
            return replay(entry, head, stored.trailers, hit, progress, call)
        case .disk: return serve(head, stored.trailers, ByteBuffer(), progress, call)
        }
    }

    func serve(
        _ head: ResponseHead, _ trailers: Headers, _ content: ByteBuffer, _ progress: Progress, _ call: Call
    ) -> Verdict {
        guard 200..<300 ~= head.status || head.status == 304 else {
            // Outer stages may handle the response by its head, for example a redirect.
            progress.reading = .replay
            return .replay(
                StoredExchange(
                    head, trailers, .memory(content), count: content.readableBytes, from: progress.source,
                    readBy: call.loop.workers))
        }
        // The stored response replaces the received response, if there was one.
        call.receivedBytes = 0
        var record = CallRecord()
        record.attempts = call.attempts
        record.timing = call.timing
        record.source = progress.source
        return .respond(call.settle(Response(head, content, trailers: trailers, record, sent: call.request)))
    }

    func replay(
        _ entry: DiskEntry, _ head: ResponseHead, _ trailers: Headers, _ hit: CacheHit, _ progress: Progress,
        _ call: Call
    ) -> Verdict {
        let opened = OnLoop { [weak self, weak call] (body: BodyReader?) in
            guard let self, let call, call.states[states] === progress else { return }
            guard let body else { return call.resume(refetch(progress, call)) }
            if case .part(let range) = hit.form { body.seek(to: range.lowerBound) }
            progress.reading = .replay
            call.resume(
                .replay(
                    StoredExchange(
                        head, trailers, .disk(body), count: head.contentLength ?? 0, from: progress.source,
                        readBy: call.loop.workers)))
        }
        guard storage.open(entry, on: call.loop.gate, then: { opened.body($0) }) else {
            return refetch(progress, call)
        }
        return .wait
    }

    /// Sends an unconditional request for a call that cannot use its cache entry. Fails the call if its policy does not
    /// allow a request.
    func refetch(_ progress: Progress, _ call: Call) -> Verdict {
        guard !progress.cacheRequest.isCacheOnly else {
            return .fail(
                NightjarError(
                    .cacheMiss,
                    "the cache entry for \(call.request.url.redacted) is no longer readable, and the cache policy "
                        + "does not allow a request"
                ))
        }
        progress.entries = []
        progress.reading = .nothing
        progress.fetch = CacheFetch(because: .miss)
        progress.isDecided = true
        return .again(after: .zero)
    }
}

extension CacheHit {
    /// Whether the hit is a complete response that has not yet expired.
    fileprivate var isPlain: Bool { because == .fresh && form == .whole && timeToLive > 0 }
}

extension Call {
    /// Whether the response to this call can also be the response to later identical calls.
    fileprivate var isPlain: Bool {
        attempts == 0 && redirects.isEmpty && request.method == .get && task.handlers.isForCompleteResponses
            && options.acceptsAnyResponse
    }
}
