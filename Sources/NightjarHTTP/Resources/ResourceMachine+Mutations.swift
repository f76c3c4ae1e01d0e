extension ResourceMachine {
    /// How a mutation has ended.
    package enum MutationEnd: Sendable {
        case saved
        /// The resource itself was deleted.
        case removed
        case failed(mayHaveBeenProcessed: Bool)
    }

    /// Handles the start of a mutation: a write to the resource by its own means.
    ///
    /// - Parameters:
    ///   - number: Greater than the numbers before.
    ///   - optimistic: The data that is shown until the mutation has ended. Nil: the data does not change.
    package mutating func mutationBegan(
        _ number: Int, _ phase: ResourceMutationPhase, optimistic: Value?
    ) -> [Action] {
        mutations.append(Mutation(number: number, phase: phase, optimistic: optimistic))
        return [publish()]
    }

    /// Handles the end of a mutation. After a success, the optimistic value becomes the data until the resource is
    /// loaded again. After a failure, the data of before is shown again, including changes that a fetch has made
    /// meanwhile. Has no effect after a change of the key.
    package mutating func mutationEnded(_ number: Int, _ end: MutationEnd) -> [Action] {
        guard let place = mutations.firstIndex(where: { $0.number == number }) else { return [] }
        let ended = mutations.remove(at: place)
        switch end {
        case .saved:
            if let optimistic = ended.optimistic, number > committed { (data, committed) = (optimistic, number) }
            isInvalidated = true
        case .removed: return removed()
        case .failed(let mayHaveBeenProcessed): if mayHaveBeenProcessed { isInvalidated = true }
        }
        guard isInvalidated else { return [publish()] }
        isStale = data != nil
        guard mutations.isEmpty else {
            fetch?.isOutdated = true
            return [publish()]
        }
        return refetch()
    }

    /// Handles the deletion of the resource. Only a reload loads it again.
    private mutating func removed() -> [Action] {
        (data, error, updatedAt) = (nil, nil, nil)
        (isStale, isInvalidated) = (false, false)
        guard let fetch else { return [publish()] }
        guard fetch.reloads.isEmpty else { return refetch() }
        self.fetch = nil
        return [.cancel(fetch.number), publish()]
    }
}
