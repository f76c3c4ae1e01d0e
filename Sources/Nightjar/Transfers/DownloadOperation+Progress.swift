import NightjarHTTP

/// The progress of a download, on the loop.
extension DownloadOperation {
    /// Stores the present progress and state text for other threads.
    func note() { note(schedule.received.isEmpty ? nil : usefulRecord) }

    /// - Parameter record: Nil: a later download cannot continue.
    func note(_ record: DownloadRecord?) {
        guard !isStopping else { return }
        var progress = Download.Progress()
        progress.state = state
        progress.received = schedule.received.count
        progress.total = schedule.total
        if schedule.isActive {
            progress.rate = rate.bytesPerSecond
            progress.timeLeft = schedule.total.flatMap { rate.time(for: $0 - progress.received) }
        }
        let record = record.flatMap { part?.completed($0) }
        snapshot.withLock { [progress] in
            $0.progress = progress
            $0.record = record
        }
    }

    func noteEnd() {
        snapshot.withLock {
            $0.progress.state = .ended
            ($0.progress.rate, $0.progress.timeLeft) = (nil, nil)
        }
    }

    private var state: Download.State {
        if isVerifying { return .verifying }
        if startsPaused || schedule.isPaused { return .paused }
        guard schedule.isActive else { return schedule.isWaiting ? .waiting : .connecting }
        return schedule.isReceiving ? .receiving : .connecting
    }

    /// Notes and reports the progress until the download ends.
    func watchProgress() {
        loop.after(DownloadOperation.progressInterval) { [weak self] in
            guard let self, !isStopping else { return }
            rate.note(schedule.received.count, at: loop.now)
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
