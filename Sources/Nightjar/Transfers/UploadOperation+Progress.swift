import NightjarHTTP

extension UploadOperation {
    /// The present progress, on the loop.
    var presentProgress: Upload.Progress {
        var progress = Upload.Progress()
        progress.state = state
        progress.total = schedule?.facts.total
        progress.sent = position
        progress.expires = schedule?.facts.expires.flatMap { Timestamp(secondsSince1970: $0) }
        if exchange != nil {
            progress.rate = rate.bytesPerSecond
            progress.timeLeft = progress.total.flatMap { rate.time(for: $0 - progress.sent) }
        }
        return progress
    }

    /// The number of bytes that the server has, or that are on the way to it.
    private var position: Int {
        guard let schedule else { return 0 }
        guard let exchange, let range = exchange.request.range else { return schedule.facts.offset }
        return range.lowerBound + exchange.sent
    }

    private var state: Upload.State {
        if startsPaused { return .paused }
        guard let schedule else { return .connecting }
        if schedule.isPaused { return .paused }
        if schedule.isDigesting { return .verifying }
        if schedule.isWaiting { return .waiting }
        return exchange?.sent ?? 0 > 0 ? .sending : .connecting
    }
}
