import NightjarHTTP

extension Client {
    /// Starts a transfer, and blocks this thread until it has ended. The callbacks run on this thread.
    ///
    /// - Parameter start: Starts the transfer with a queue, and a function to call at its end.
    func blocking(
        _ start: (CompletionQueue, @escaping @Sendable (Result<Void, NightjarError>) -> Void) throws(NightjarError) ->
            Void
    ) throws(NightjarError) {
        try checkMayWait()
        let queue = takeQueue()
        let end = BlockingEnd()
        do throws(NightjarError) {
            try start(queue) { end.result = $0 }
        } catch {
            keep(queue)
            throw error
        }
        let result = try wait(on: queue) { end.result }
        keep(queue)
        try result.get()
    }
}

/// The end of a blocking transfer. Used only on the waiting thread.
private final class BlockingEnd: @unchecked Sendable {
    var result: Result<Void, NightjarError>?
}
