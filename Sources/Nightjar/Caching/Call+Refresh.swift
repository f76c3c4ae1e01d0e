import NIOCore
import NightjarHTTP

extension Call {
    /// Starts a background call that passes the current stage and the stages below it.
    ///
    /// - Parameters:
    ///   - isReported: Whether the caller's `refreshed` callback is called. The callback is called at most once per
    ///     task.
    ///   - prepare: Runs before the new call begins.
    /// - Returns: False if the queue of the callback is closed.
    func refresh(_ request: PreparedRequest, isReported: Bool, prepare: (Call) -> Void) -> Bool {
        let expected = options.expectedStatuses
        let caller = task
        let isReported = isReported && !caller.isRefreshing
        let refreshed = isReported ? caller.handlers.refreshed : nil
        var handlers = TaskHandlers { _, result in
            guard let refreshed, caller.isRefreshing else { return }
            refreshed(
                result.flatMap { response in
                    expected.expects(response.status)
                        ? result : .failure(NightjarError(unexpected: response, to: request.method))
                })
        }
        // Without a callback the body is discarded.
        if refreshed == nil { handlers.body = { _, _ in } }
        let queue = refreshed == nil ? nil : caller.handlers.refreshQueue ?? caller.queue
        let task = ClientTask(
            request, options.ofSharedExchange, handlers: handlers, queue: queue, client: loop,
            reservation: caller.reservation)
        if let queue, !queue.register(task) { return false }
        if isReported { caller.isRefreshing = true }
        let call = Call(task, on: loop, chain: chain, below: reachedStage - 1)
        prepare(call)
        if refreshed != nil { call.refreshes = self }
        let total = options.timeouts.total ?? Call.longestRefresh
        call.limits.total = .now() + .nanoseconds(total.nanosecondsClamped)
        call.limits.idle = limits.idle
        loop.take(call)
        call.watchLimits()
        call.begin()
        return true
    }

    /// The timeout of a background call if the caller's total timeout is unlimited.
    private static let longestRefresh = Duration.seconds(300)
}
