/// The operations of a client, and the callbacks that wait for the end of all its work. Used on the client's loop.
struct OperationRegistry {
    private var operations: [ObjectIdentifier: ClientOperation] = [:]
    private var drained: [() -> Void] = []
    /// Whether the client accepts no new work.
    private(set) var drains = false

    var all: [ClientOperation] { Array(operations.values) }

    mutating func add(_ operation: ClientOperation) { operations[ObjectIdentifier(operation)] = operation }

    mutating func remove(_ operation: ClientOperation) { operations[ObjectIdentifier(operation)] = nil }

    /// - Parameter body: Called once when nothing is in flight.
    mutating func drain(_ body: @escaping () -> Void) {
        drains = true
        drained.append(body)
    }

    /// Returns the callbacks to call now, and forgets them.
    ///
    /// - Parameters:
    ///   - hasCalls: Whether calls or batches are in flight.
    ///   - hasUnsaved: Whether a login or logout is being saved. Evaluated only if nothing else is in flight.
    mutating func takeDrained(
        hasCalls: @autoclosure () -> Bool, hasUnsaved: @autoclosure () -> Bool
    ) -> [() -> Void] {
        guard !drained.isEmpty, !hasCalls(), !operations.values.contains(where: \.isInFlight), !hasUnsaved()
        else { return [] }
        defer { drained = [] }
        return drained
    }
}

extension ClientLoop {
    /// Registers an operation until ``forget(_:)``.
    func take(_ operation: ClientOperation) {
        operations.add(operation)
        if !openDecisions.isEmpty { postOpenDecisions(to: operation.queue) }
    }

    func forget(_ operation: ClientOperation) {
        operations.remove(operation)
        checkDrained()
    }

    /// Rejects new work from now on, and calls `body` once when nothing is in flight.
    func drain(_ body: @escaping () -> Void) {
        rejectNewWork()
        operations.drain(body)
        for operation in operations.all { operation.clientDrains() }
        for call in calls { call.endIfEndless() }
        checkDrained()
    }

    /// Reports that nothing is in flight, if the client drains.
    func checkDrained() {
        let drained = operations.takeDrained(hasCalls: !calls.isEmpty || hasBatches, hasUnsaved: mustFinish)
        for notify in drained { notify() }
    }
}
