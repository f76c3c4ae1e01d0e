import NIOCore
import NightjarHTTP

/// The requests of a download, and the events of their responses. On the loop, unless a comment names other threads.
extension DownloadOperation {
    /// Sends the request of a connection, or asks the caller to prepare it.
    func request(_ number: Int, _ range: DownloadSchedule.RangeRequest?) {
        let connection = DownloadConnection(number, of: self)
        connections[number] = connection
        if let feed = feed.take() {
            hasSentRequest = true
            return connection.receive(feed)
        }
        guard hasSentRequest, let prepare = handlers.prepare else {
            hasSentRequest = true
            return start(connection, request, range)
        }
        pendingRequests[number] = .some(range)
        loop.post(.run { [self] in if !isStopped { prepare(self, number) } }, to: queue)
    }

    /// Sends a request for which ``Handlers/prepare`` was called. Any thread.
    package func connect(_ number: Int, with request: Request) {
        loop.submit(
            .run { [self] in
                guard !isStopping, let connection = connections[number],
                    let range = pendingRequests.removeValue(forKey: number)
                else { return }
                start(connection, request, range)
            })
    }

    private func start(
        _ connection: DownloadConnection, _ request: Request, _ range: DownloadSchedule.RangeRequest?
    ) {
        do throws(NightjarError) {
            try connection.start(request, range, window: window)
        } catch {
            stop(error, keeps: true)
        }
    }

    /// The number of received bytes of one connection that may wait to be written.
    var window: Int {
        // Each connection receives a window at once, before its rate is limited.
        let (total, smallest) = limit == nil ? (1 << 20, 128 << 10) : (128 << 10, 32 << 10)
        return max(total / settings.connections, smallest)
    }

    // MARK: Events of connections

    func opened(_ connection: DownloadConnection, _ response: Response) {
        guard !isStopping, connections[connection.number] === connection else { return }
        if schedule.opened(connection.number, status: response.status, response.headers) {
            if let head = handlers.head {
                loop.post(.run { [self] in if !isStopped { head(self, response) } }, to: queue)
            }
            // The reset of an older content comes first.
            perform()
            if let total = schedule.total {
                let isVerified = settings.checksum != nil || schedule.digest != nil
                part?.prepare(for: total - schedule.received.count, isVerified: isVerified)
            }
            // Before the first byte, so that a part always has a state.
            if schedule.received.isEmpty { part?.record() }
        }
        perform()
    }

    func received(_ bytes: ByteBuffer, from connection: DownloadConnection) {
        guard !isStopping, connections[connection.number] === connection else { return }
        let count = bytes.readableBytes
        guard let placement = schedule.place(count, from: connection.number) else { return perform() }
        var bytes = bytes
        bytes.moveReaderIndex(forwardBy: placement.skip)
        guard placement.take > 0, let slice = bytes.readSlice(length: placement.take) else {
            return connection.consumed(count)
        }
        part?.write(
            DownloadQueue.Write(connection: connection, bytes: slice, offset: placement.offset, credit: count))
        if placement.isLast, connection.cutOff() { ended(connection, .complete) }
    }

    func ended(_ connection: DownloadConnection, _ end: DownloadConnection.End) {
        part?.afterWrites { [weak self] in
            guard let self, !isStopping, connections[connection.number] === connection else { return }
            connections[connection.number] = nil
            switch end {
            case .complete: schedule.ended(connection.number, nil, using: &random)
            case .failed(let error): schedule.ended(connection.number, error, using: &random)
            case .damaged(let error):
                schedule.damaged(connection.number, error, using: &random)
                part?.invalidated(schedule.received)
            }
            perform()
        }
    }
}
