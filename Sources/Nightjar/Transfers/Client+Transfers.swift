import NightjarHTTP
import NightjarStorage

extension Client {
    /// Removes a transfer with an id from the client's journal, so that the id can be used for another transfer. Discards
    /// its state and its result, but not its files. Has no effect if the journal has no such transfer.
    ///
    /// Blocks while another process locks the journal, for at most 5 seconds.
    ///
    /// - Throws: `storage` if the transfer is in progress, or if the journal cannot be used; `invalid_argument` for an
    ///   invalid id or an ephemeral client; `forked`.
    public func removeTransfer(_ id: String) throws(NightjarError) {
        try checkProcess()
        try TransferSettings.check(id: id)
        let journal = try journal.open()
        do throws(JournalError) {
            try journal.remove(id)
        } catch {
            if case .wrongPhase = error.cause { throw .transferInProgress(id) }
            throw error.failure
        }
    }

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

extension NightjarError {
    static func transferInProgress(_ id: String) -> NightjarError {
        NightjarError(
            .storage,
            "the transfer \(quoted(id)) is in progress in this or another process; wait for its end, or use another id")
    }

    static func transferInDoubt(_ id: String) -> NightjarError {
        NightjarError(
            .contentChanged,
            "the transfer \(quoted(id)) may be complete: the response to its request was lost; check the resource, and then remove the transfer",
            requestMayHaveBeenProcessed: true)
    }
}
