import NightjarHTTP
import NightjarStorage

// Responses to unsafe requests, except error responses, invalidate stored responses. The response to a POST may also
// be stored.

extension Cache {
    /// A POST request in flight.
    final class Post: CallState {
        /// The cache changes that were known when the request was sent.
        var began: CacheMoment

        init(began: CacheMoment) { self.began = began }
    }

    /// Records a POST request that is about to be sent.
    ///
    /// - Returns: `wait` for the first POST if the cache on disk has not been read yet and its thread can be started;
    ///   otherwise `proceed`. The index is read first, so that later changes by other processes are detected before the
    ///   response is stored.
    func noteWrite(_ call: Call) -> Verdict {
        guard call.request.method == .post else { return .proceed }
        let post = Post(began: storage.moment)
        call.states[posts] = post
        guard let disk = storage.disk, post.began.index == 0, !hasReadIndex else { return .proceed }
        hasReadIndex = true
        let noted = OnLoop { [weak self, weak call] (_: Void) in
            guard let self, let call, call.states[posts] === post else { return }
            post.began = storage.moment
            call.resume(.proceed)
        }
        let isRun = disk.run(
            { [storage] in _ = storage.catchUp($0) }, on: call.loop.gate, then: { noted.body($0) })
        return isRun ? .wait : .proceed
    }

    /// Handles the head of the response to an unsafe request. RFC 9111 section 4.4.
    func wrote(_ head: inout ResponseHead, _ call: Call) {
        let stored = posted(&head, call)
        for url in Invalidation.urls(call.request.method, call.request.url, head) {
            storage.invalidate(url.cacheAddress)
        }
        guard let stored else { return }
        // The invalidation above must not apply to the response of the same request.
        stored.began = storage.moment
        call.states[states] = stored
    }

    /// Prepares to store the response to a POST request. RFC 9110 section 9.3.3.
    ///
    /// - Returns: Nil if the response must not be stored, or if the resource was invalidated or removed after the
    ///   request was sent.
    private func posted(_ head: inout ResponseHead, _ call: Call) -> Progress? {
        guard let began = call.states[posts].take()?.began, let policy = call.options.cache,
            head.headers.firstIndex(of: "Content-Location") != nil
        else { return nil }
        let subject = subject(of: call, policy)
        guard storage.writes.verdict(subject.key.url, since: began) == .asIs else { return nil }
        let progress = Progress(subject, newMember(), began: began, in: storage)
        progress.note(call)
        guard
            case .store(let stored) = progress.cacheRequest.storability(
                ofPosted: head, to: call.request.url, isDecoded: call.decoding != nil, requested: progress.requested,
                received: progress.received)
        else { return nil }
        progress.announced = call.decoding == nil ? head.contentLength : nil
        willStore(stored, &head, progress)
        return progress
    }
}
