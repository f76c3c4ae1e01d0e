import NightjarHTTP

/// A write whose progress and optimistic value a resource shows. A call of the client.
final class ResourceMutation: ClientOperation, @unchecked Sendable {
    private let resource: ResourceController
    private let request: Request
    private let optimistic: ResourceContent?
    private let outcome: Outcome
    /// Used on the loop.
    private var task: ClientTask?

    /// Written on the loop before the operation ends, and read by the callback.
    private final class Outcome: @unchecked Sendable {
        var response: Response?
    }

    init(
        _ resource: ResourceController, _ request: Request, optimistic: ResourceContent?, on queue: CompletionQueue?,
        _ finished: @escaping @Sendable (Result<Response, NightjarError>) -> Void
    ) {
        self.resource = resource
        self.request = request
        self.optimistic = optimistic
        let outcome = Outcome()
        self.outcome = outcome
        super.init("the mutation of a resource", on: resource.loop, queue: queue, timeout: nil) { result in
            switch (result, outcome.response) {
            case (.failure(let error), _): finished(.failure(error))
            case (.success, let response?): finished(.success(response))
            case (.success, nil): finished(.failure(ResourceController.closed))
            }
        }
    }

    override func begin() {
        let phase = request.mutationPhase
        let number = resource.beginMutation(phase, optimistic: optimistic)
        var handlers = TaskHandlers { [self] _, result in
            task = nil
            // The resource first, so that the callback finds the snapshot after the mutation.
            resource.endMutation(number, resource.mutationEnd(result))
            resource.afterEvents { [self] in finish(result) }
        }
        handlers.decisionQueue = queue
        do throws(NightjarError) {
            task = try resource.client.start(request, on: nil, handlers)
        } catch {
            resource.endMutation(number, .failed(mayHaveBeenProcessed: false))
            resource.afterEvents { [self] in finish(.failure(error)) }
        }
    }

    override func released() { task?.cancel() }

    private func finish(_ result: Result<Response, NightjarError>) {
        switch result {
        case .success(let response):
            outcome.response = response
            end(.success(()))
        case .failure(let error): end(.failure(error))
        }
    }
}

extension Request {
    package var mutationPhase: ResourceMutationPhase { method == .delete ? .deleting : .saving }
}

extension ResourceController {
    /// Starts a mutation: sends a request that changes the resource, and shows its progress.
    ///
    /// - Parameters:
    ///   - optimistic: The data that is shown until the mutation has ended; JSON. Nil: the data does not change.
    ///   - value: The decoded value of `optimistic`.
    package func mutate(
        _ request: Request, optimistic: ByteBuffer?, value: (any Sendable)? = nil, on queue: CompletionQueue?,
        finished: @escaping @Sendable (Result<Response, NightjarError>) -> Void
    ) throws(NightjarError) -> ClientWork {
        try client.checkProcess()
        let content = try content(optimistic: optimistic, value)
        let mutation = ResourceMutation(self, request, optimistic: content, on: queue, finished)
        try mutation.start()
        return mutation
    }

    /// Returns the content of an optimistic value.
    package func content(
        optimistic: ByteBuffer?, _ value: (any Sendable)? = nil
    ) throws(NightjarError) -> ResourceContent? {
        guard let optimistic else { return nil }
        return try ResourceContent(optimistic: optimistic, value, at: newestURL)
    }

    /// Returns how the result of a mutation changes the resource. Any thread.
    package func mutationEnd(
        _ result: Result<Response, NightjarError>
    ) -> ResourceMachine<ResourceContent>.MutationEnd {
        switch result {
        case .success(let response):
            guard let request = response.request, request.method == .delete else { return .saved }
            return newestURL.isChanged(by: request.url, includingChildren: false) ? .removed : .saved
        case .failure(let error): return .failed(mayHaveBeenProcessed: error.requestMayHaveBeenProcessed)
        }
    }
}
