import NIOCore
import NightjarHTTP

extension Call {
    /// Makes a call that does the rest of this one again, from the stage that is asked now, with nobody waiting for it but
    /// who wants to hear of it, once this one has its answer.
    ///
    /// - Parameters:
    ///   - isHeard: the caller hears of it, if it wants to and of no other.
    ///   - prepare: runs before the new call begins.
    /// - Returns: false when it cannot begin.
    func refresh(_ request: PreparedRequest, isHeard: Bool, prepare: (Call) -> Void) -> Bool {
        let expected = options.expectedStatuses
        let caller = task
        let isHeard = isHeard && !caller.isRefreshing
        let refreshed = isHeard ? caller.handlers.refreshed : nil
        var handlers = TaskHandlers { _, result in
            guard let refreshed, caller.isRefreshing else { return }
            refreshed(
                result.flatMap { response in
                    expected.expects(response.status)
                        ? result : .failure(NightjarError(unexpected: response, to: request.method))
                })
        }
        // What nobody wants to have is not collected.
        if refreshed == nil { handlers.body = { _, _ in } }
        let queue = refreshed == nil ? nil : caller.handlers.refreshQueue ?? caller.queue
        let task = ClientTask(
            request, options.ofSharedExchange, handlers: handlers, queue: queue, client: loop, hold: caller.hold)
        if let queue, !queue.register(task) { return false }
        if isHeard { caller.isRefreshing = true }
        let call = Call(task, on: loop, chain: chain, below: asked - 1)
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

    /// For a fetch that nobody waits for.
    private static let longestRefresh = Duration.seconds(300)
}
