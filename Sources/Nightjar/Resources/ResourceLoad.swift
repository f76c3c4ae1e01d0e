import NightjarHTTP

/// A wait for the data of a resource, or a reload.
final class ResourceLoad: ClientOperation, @unchecked Sendable {
    private let resource: ResourceController
    private let isReload: Bool
    /// Identifies the load. Used on the loop.
    var number = 0
    private let outcome: Outcome

    /// Written on the loop before the operation ends, and read by the callback.
    private final class Outcome: @unchecked Sendable {
        var content: ResourceContent?
    }

    init(
        _ resource: ResourceController, isReload: Bool, on queue: CompletionQueue?,
        _ finished: @escaping @Sendable (Result<ResourceContent, NightjarError>) -> Void
    ) {
        self.resource = resource
        self.isReload = isReload
        let outcome = Outcome()
        self.outcome = outcome
        super.init(
            isReload ? "the reload of a resource" : "the load of a resource", on: resource.loop, queue: queue,
            timeout: nil
        ) { result in
            switch (result, outcome.content) {
            case (.failure(let error), _): finished(.failure(error))
            case (.success, let content?): finished(.success(content))
            case (.success, nil): finished(.failure(ResourceController.closed))
            }
        }
    }

    override func begin() { resource.begin(self, isReload: isReload) }

    override func released() { resource.ended(self) }

    func end(with result: Result<ResourceContent, NightjarError>) {
        switch result {
        case .success(let content):
            outcome.content = content
            end(.success(()))
        case .failure(let error): end(.failure(error))
        }
    }
}
