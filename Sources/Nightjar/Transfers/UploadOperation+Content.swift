import NightjarCrypto
import NightjarHTTP

/// The content of an upload: its digests, and its bytes for the requests. On the loop, unless a comment names other
/// threads.
extension UploadOperation {
    func digest(_ range: Range<Int>?, _ algorithm: Checksum.Algorithm) {
        guard let file else {
            guard let range else {
                guard let digest = stream?.digest else {
                    return stop(.noMemory(1024, for: "a digest"), keeps: true)
                }
                return update { $0.digested(Checksum(algorithm, digest)) }
            }
            guard let hash = RunningHash(HashFunction(algorithm)), let bytes = stream?.bytes(range) else {
                return stop(.noMemory(1024, for: "a digest"), keeps: true)
            }
            bytes.withUnsafeReadableBytes { hash.update($0) }
            return update { $0.digested(Checksum(algorithm, hash.finish())) }
        }
        loop.transferWorkers.run("computing the digest of an upload") { [self] () throws(NightjarError) in
            try file.digest(range, algorithm, isCancelled: { self.isStopped || self.isFinished })
        } then: { [weak self] result in
            switch result {
            case .success(let checksum): self?.update { $0.digested(checksum) }
            case .failure(let error): self?.stop(error, keeps: true)
            }
        }
    }

    /// Whether the body of a request can be sent again.
    func canRewind(_ range: Range<Int>) -> Bool { file != nil || range.upperBound != .max }
    /// The media type of the content.
    var contentType: String { schedule?.facts.contentType ?? "" }

    /// Returns the body of a request.
    func body(_ range: Range<Int>) -> RequestBody {
        .stream(length: range.upperBound == .max ? nil : range.count)
    }

    /// Reads bytes for a request.
    func provide(_ range: Range<Int>, to exchange: UploadExchange) {
        let generation = exchange.generation
        guard let file else {
            if exchange.request.range?.upperBound != .max, let bytes = stream?.bytes(range) {
                return send(.bytes(bytes), to: exchange, generation)
            }
            streamTarget = exchange
            return requestPart(range.count)
        }
        // Most files are read ahead by the system. Another thread is only needed to wait for the disk.
        if let bytes = file.readCached(range) { return send(.bytes(bytes), to: exchange, generation) }
        loop.transferWorkers.run("reading a file to upload") { () throws(NightjarError) in
            try file.read(range)
        } then: { [weak self] result in
            switch result {
            case .success(let bytes) where bytes.readableBytes == range.count:
                self?.send(.bytes(bytes), to: exchange, generation)
            case .success:
                self?.fail(
                    NightjarError(.contentChanged, "the file was truncated during its upload; upload it again"),
                    exchange, generation)
            case .failure(let error): self?.fail(error, exchange, generation)
            }
        }
    }

    private func fail(_ error: NightjarError, _ exchange: UploadExchange, _ generation: Int) {
        contentError = error
        exchange.send(.failed(error.message), of: generation)
    }

    /// Sends a part, when the maximum rate allows it.
    private func send(_ part: TaskHandlers.BodyPart, to exchange: UploadExchange, _ generation: Int) {
        guard case .bytes(let bytes) = part,
            let delay = limit?.delay(after: bytes.readableBytes, at: loop.now), delay > .zero
        else {
            return exchange.send(part, of: generation)
        }
        loop.after(delay) { exchange.send(part, of: generation) }
    }

    func requestPart(_ maximum: Int) {
        deferral.called()
        requestedBytes = maximum
        loop.post(
            .run { [self] in
                guard !isStopped, let read = handlers.read else { return }
                let part = read(self, maximum)
                loop.submit(.run { [self] in provided(part) })
            }, to: queue)
    }

    /// Provides the next part of a stream, after the read handler has returned `later`. Any thread.
    package func provide(_ part: TaskHandlers.BodyPart) {
        if case .later = part { return }
        loop.submit(.run { [self] in provided(part) })
    }

    /// Calls the read handler again after it has returned `later`. May also be called before the handler returns. Use
    /// either this method or ``provide(_:)``. Any thread.
    package func resumeContent() {
        loop.submit(.run { [self] in if !isStopping, deferral.resumed() { requestPart(requestedBytes) } })
    }

    private func provided(_ part: TaskHandlers.BodyPart) {
        guard !isStopping else { return }
        switch part {
        case .failed(let message):
            stop(NightjarError(.invalidRequest, "the stream to upload has failed: \(message)"), keeps: true)
        case .later: if deferral.deferred() { requestPart(requestedBytes) }
        case .bytes, .end:
            if let streamTarget { return send(part, to: streamTarget, streamTarget.generation) }
            if case .bytes(let bytes) = part { stream?.received(bytes) } else { stream?.ended() }
        }
    }
}
