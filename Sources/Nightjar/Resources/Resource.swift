import NIOCore
import NightjarHTTP
import Observation
import Synchronization

/// Data of an API that a view shows: loaded, kept current, and observable.
///
/// The resource is loaded when it is created, and again when the network returns, after an interval, after a write of
/// this client to its path, or after ``Client/invalidate(tag:)``. ``snapshot`` is observable: SwiftUI and
/// `withObservationTracking` follow its changes. ``changes`` is the same as an asynchronous sequence. Releasing the
/// resource, or ``close()``, cancels the load in progress.
///
///     let articles = try client.resource(Request(.get, "/articles"), as: [Article].self)
///     for await snapshot in articles.changes { show(snapshot.data, snapshot.error, snapshot.phase) }
public final class Resource<Value: Decodable & Sendable>: Observable, Sendable {
    public typealias Snapshot = ResourceSnapshot<Value>
    public typealias Settings = ResourceSettings

    private let controller: ResourceController
    private let registrar = ObservationRegistrar()
    private let current = Mutex(Snapshot())
    /// Keeps the resource loaded.
    private let observer = Mutex<ResourceObserver?>(nil)

    init(
        _ client: Client, _ request: Request, _ settings: Settings, _ options: JSONDecodingOptions?
    ) throws(NightjarError) {
        controller = try client.makeResource(request, settings, callbacks: nil) {
            response throws(NightjarError) in try response.decode(Value.self, options)
        }
        let observer = controller.observe(on: nil) { [weak self] in self?.receive($0) }
        self.observer.withLock { $0 = observer }
    }

    deinit { close() }

    private func receive(_ snapshot: ResourceController.Snapshot) {
        registrar.withMutation(of: self, keyPath: \.snapshot) {
            current.withLock { $0 = Resource.typed(snapshot) }
        }
    }

    private static func typed(_ snapshot: ResourceController.Snapshot) -> Snapshot {
        snapshot.map { $0.value as? Value }
    }

    /// The newest snapshot. Changes on the client's thread, so an observation's `onChange` must not block.
    public var snapshot: Snapshot {
        registrar.access(self, keyPath: \.snapshot)
        return current.withLock { $0 }
    }

    /// The present snapshot, and then the newest one after each change, until the resource is closed. A reader that is
    /// slower than the changes receives only the newest snapshot.
    public var changes: AsyncStream<Snapshot> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let observer = controller.observe(on: nil, closed: { continuation.finish() }) {
                continuation.yield(Resource.typed($0))
            }
            continuation.onTermination = { _ in observer.cancel() }
        }
    }

    /// Changes the path and the query. The load of the old path is cancelled. With ``ResourceSettings/debounce``, the
    /// change takes effect when no further change has come for this time.
    ///
    /// - Throws: `invalid_url` or `invalid_request`. Nothing is then changed.
    public func setPath(
        _ path: String, parameters: Request.Items = [], query: Request.Items = []
    ) throws(NightjarError) {
        try controller.change { request in
            (request.target, request.parameters, request.query) = (path, parameters, query)
        }
    }

    /// Returns the data when it is current: at once, or after the load in progress.
    ///
    /// - Throws: The failure of the load; `closed`; `cancelled` if the Swift task is cancelled.
    public func get() async throws(NightjarError) -> Value { try await load(isReload: false) }

    /// Loads the data again, past the cache, and returns it. The load begins after this call, so that its data is not
    /// older. Cancelling the Swift task ends the wait.
    ///
    /// - Throws: As ``get()``. ``snapshot`` keeps the data of before.
    @discardableResult
    public func reload() async throws(NightjarError) -> Value { try await load(isReload: true) }

    private func load(isReload: Bool) async throws(NightjarError) -> Value {
        let content = try await outcome { (finished) throws(NightjarError) in
            try controller.load(isReload: isReload, on: nil, finished: finished)
        }
        guard let value = content.value as? Value else { throw ResourceController.closed }
        return value
    }

    /// Sends a request that changes the resource. ``ResourceSnapshot/mutation`` shows its progress. The resource is loaded
    /// again after a success, and after a failure that the server may have processed.
    ///
    /// - Parameters:
    ///   - request: For example a PUT or DELETE of the same path. It can have another path.
    ///   - optimistic: The data that is shown at once, until the mutation has ended. A failure removes it. Nil: the data
    ///     does not change before the resource is loaded again.
    /// - Returns: The response of the request.
    @discardableResult
    public func mutate(_ request: Request, optimistic: Value? = nil) async throws(NightjarError) -> Response {
        try await outcome { (finished) throws(NightjarError) in
            try controller.mutate(
                request, optimistic: optimistic.map { _ in ByteBuffer(string: "null") }, value: optimistic, on: nil,
                finished: finished)
        }
    }

    /// Cancels the load in progress and ends ``changes``. Later loads fail with `closed`.
    public func close() {
        observer.withLock { $0.take() }?.cancel()
        controller.close()
    }
}

extension Client {
    /// Creates a resource, and begins to load it.
    ///
    /// - Parameter request: A GET or another safe request without a body.
    /// - Throws: `invalid_request`; `invalid_url`; `invalid_argument` for invalid settings; `closed`; `forked`.
    public func resource<Value: Decodable & Sendable>(
        _ request: Request, as type: Value.Type = Value.self, _ settings: Resource<Value>.Settings = .init(),
        _ options: JSONDecodingOptions? = nil
    ) throws(NightjarError) -> Resource<Value> {
        try Resource(self, request, settings, options)
    }
}
