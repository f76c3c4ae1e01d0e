import NightjarHTTP

/// The progress of a download, on the loop.
extension DownloadOperation {
    /// Stores the present progress and state text for other threads.
    ///
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

    private var state: Download.State {
        if isVerifying { return .verifying }
        if startsPaused || schedule.isPaused { return .paused }
        guard schedule.isActive else { return schedule.isWaiting ? .waiting : .connecting }
        return schedule.isReceiving ? .receiving : .connecting
    }
}
