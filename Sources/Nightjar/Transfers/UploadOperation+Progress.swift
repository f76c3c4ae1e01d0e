import NightjarHTTP

/// The progress of an upload, on the loop.
extension UploadOperation {
    /// Stores the present progress and state text for other threads.
    func note() {
        guard !isStopping else { return }
        var progress = Upload.Progress()
        progress.state = state
        progress.total = schedule?.facts.total
        progress.sent = position
        if exchange != nil {
            progress.rate = rate.bytesPerSecond
            progress.timeLeft = progress.total.flatMap { rate.time(for: $0 - progress.sent) }
        }
        let record = schedule?.record
        snapshot.withLock { [progress] in
            $0.progress = progress
            $0.record = record
        }
    }

    /// The number of bytes that the server has, or that are on the way to it.
    private var position: Int {
        guard let schedule else { return 0 }
        guard let exchange, let range = exchange.request.range else { return schedule.facts.offset }
        return range.lowerBound + exchange.sent
    }

    func noteEnd() {
        snapshot.withLock {
            $0.progress.state = .ended
            if let result = $0.result { ($0.progress.sent, $0.progress.total) = (result.size, result.size) }
            ($0.progress.rate, $0.progress.timeLeft) = (nil, nil)
        }
    }

    private var state: Upload.State {
        if startsPaused { return .paused }
        guard let schedule else { return .connecting }
        if schedule.isPaused { return .paused }
        if schedule.isDigesting { return .verifying }
        if schedule.isWaiting { return .waiting }
        return exchange?.sent ?? 0 > 0 ? .sending : .connecting
    }

    /// Notes and reports the progress until the upload ends.
    func watchProgress() {
        loop.after(UploadOperation.progressInterval) { [weak self] in
            guard let self, !isStopping else { return }
            rate.note(sentBefore + (exchange?.sent ?? 0), at: loop.now)
            note()
            reportProgress(isLast: false)
            watchProgress()
        }
    }

    /// Calls the handler if the progress has changed.
    ///
    /// - Parameter isLast: Whether the report must not be skipped.
    func reportProgress(isLast: Bool) {
        guard let handler = handlers.progress else { return }
        let progress = progress
        guard progress != reported, isLast || !hasProgressEvent.exchange(true, ordering: .relaxed) else { return }
        reported = progress
        loop.post(
            .run { [self] in
                hasProgressEvent.store(false, ordering: .relaxed)
                handler(self, progress)
            }, to: queue)
    }

    private static let progressInterval = Duration.milliseconds(100)
}
