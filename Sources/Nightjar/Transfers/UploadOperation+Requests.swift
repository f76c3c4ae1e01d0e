import NightjarHTTP

/// The requests of an upload, and the events of their responses. On the loop, unless a comment names other threads.
extension UploadOperation {
    /// Sends a request after the journal has its intent and the results of the requests before.
    func prepare(_ request: UploadRequest) {
        (pendingRequest, isPreparedByCaller) = (request, false)
        guard let entry else { return ask() }
        note()
        if schedule?.needsIntent ?? false { entry.recordIntent(idempotencyKey) }
        preparation += 1
        let number = preparation
        entry.whenWritten { [weak self] in
            if let self, preparation == number { ask() }
        }
    }

    /// Lets the caller prepare the request, or sends it.
    private func ask() {
        guard let request = pendingRequest else { return }
        guard hasSentRequest, let prepare = handlers.prepare else {
            hasSentRequest = true
            pendingRequest = nil
            return send(request, self.request)
        }
        isPreparedByCaller = true
        loop.post(.run { [self] in if !isStopped { prepare(self) } }, to: queue)
    }

    /// Sends the request for which ``Handlers/prepare`` was called. Any thread.
    package func connect(with base: Request) {
        loop.submit(
            .run { [self] in
                guard !isStopping, isPreparedByCaller, let request = pendingRequest.take() else { return }
                send(request, base)
            })
    }

    private func send(_ request: UploadRequest, _ base: Request) {
        let exchange = UploadExchange(request, of: self)
        self.exchange = exchange
        do throws(NightjarError) {
            try exchange.start(base)
        } catch {
            let isClosed = error.kind == .closed
            stop(
                isClosed ? NightjarError(.cancelled, "the client was closed during the upload") : error,
                keeps: true)
        }
    }

    func received(interim head: ResponseHead, from url: RequestURL, _ exchange: UploadExchange) {
        guard self.exchange === exchange else { return }
        update {
            $0.interim(head.status, head.headers, from: url, afterWholeBody: exchange.isWhole, at: WallClock.now())
        }
    }

    func ended(_ exchange: UploadExchange, _ result: Swift.Result<Response, NightjarError>) {
        guard self.exchange === exchange, !isStopping else { return }
        switch result {
        case .success(let response):
            checkContent(after: exchange) { [weak self] in self?.responded(exchange, response) }
        case .failure(let error):
            release(exchange)
            // The response, or the lack of one, shows that the content was not processed.
            if error.status != nil || !error.requestMayHaveBeenProcessed { entry?.withdrawIntent() }
            let error = contentError.take() ?? error
            update { $0.failed(error, afterWholeBody: exchange.isWhole, using: &random) }
        }
    }

    private func responded(_ exchange: UploadExchange, _ response: Response) {
        // The upload may have been paused during the check.
        guard self.exchange === exchange, !isStopping else { return }
        release(exchange)
        self.response = response
        let found = UploadResponse(status: response.status, response.headers, response.body, url: response.location)
        update { $0.responded(found, toWholeBody: exchange.isWhole, at: WallClock.now(), using: &random) }
    }

    private func release(_ exchange: UploadExchange) {
        sentBefore += exchange.sent
        self.exchange = nil
    }

    /// Checks that the file has not changed while it was sent.
    private func checkContent(after exchange: UploadExchange, then next: @escaping () -> Void) {
        guard let file, exchange.request.range != nil else { return next() }
        let next = LoopAction(run: next)
        loop.transferWorkers.run("checking an uploaded file") { () throws(NightjarError) in
            try file.check()
        } then: { [weak self] result in
            switch result {
            case .success: next.run()
            case .failure(let error): self?.stop(error, keeps: true)
            }
        }
    }

    func cancelExchange() {
        preparation += 1
        guard let cancelled = exchange.take() else { return pendingRequest = nil }
        cancelled.cancel()
        sentBefore += cancelled.sent
        pendingRequest = nil
    }
}
