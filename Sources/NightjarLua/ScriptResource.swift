import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A resource of a script. Belongs to the thread that runs the Lua state.
final class ScriptResource: @unchecked Sendable {
    let engine: Engine
    let client: Client
    let resource: ResourceController

    /// - Parameter caller: The number of the caller that runs the client's hooks; 0: none.
    init(
        _ engine: Engine, _ client: Client, _ request: Request, _ settings: ResourceSettings, caller: Int64
    ) throws(NightjarError) {
        self.engine = engine
        self.client = client
        resource = try client.makeResource(
            request, settings, callbacks: engine.queue, sender: ScriptSender(engine, client, for: caller))
    }

    deinit { resource.close() }

    func load(isReload: Bool, for wait: OpaquePointer) throws(NightjarError) -> Future {
        try engine.checkProcess()
        let future = engine.pending(for: wait)
        do throws(NightjarError) {
            let work = try resource.load(isReload: isReload, on: engine.queue) { [engine] result in
                // The script may have dropped the outcome.
                if future.isPending { engine.finished(future, result.map(\.response)) }
            }
            future.abandon = { [weak engine, weak future] in
                work.cancel()
                if let future { engine?.drop(future) }
            }
        } catch {
            engine.drop(future)
            throw error
        }
        return future
    }

    /// Returns an outcome that ends when the events so far have changed the snapshot.
    func settle(for wait: OpaquePointer) -> Future {
        let future = engine.pending(for: wait)
        future.abandon = { [weak engine, weak future] in
            if let future { engine?.drop(future) }
        }
        resource.afterEvents { [engine] in engine.queue.run { engine.complete(future) } }
        return future
    }
}

/// An observer of a resource, with the newest snapshot that the script has not read. Belongs to the thread that runs the
/// Lua state.
final class ScriptObserver: @unchecked Sendable {
    private let engine: Engine
    private let resource: ResourceController
    private var observer: ResourceObserver?
    private var snapshot: ResourceController.Snapshot?
    private(set) var hasEnded = false
    /// The outcome that waits for the next snapshot.
    private var awaited: Future?

    init(_ resource: ScriptResource) {
        engine = resource.engine
        self.resource = resource.resource
        let ended: @Sendable () -> Void = { [weak self, queue = engine.queue] in
            queue.run { [weak self] in self?.end() }
        }
        observer = self.resource.observe(on: engine.queue, closed: ended) { [weak self] in self?.add($0) }
    }

    func close() {
        observer.take()?.cancel()
        end()
    }

    private func end() {
        hasEnded = true
        snapshot = nil
        finish()
    }

    private func add(_ snapshot: ResourceController.Snapshot) {
        guard !hasEnded else { return }
        self.snapshot = snapshot
        finish()
    }

    private func finish() {
        if let future = awaited.take() { engine.complete(future) }
    }

    func take() -> ResourceController.Snapshot? { snapshot.take() }

    func next(for wait: OpaquePointer) throws(NightjarError) -> Future {
        try engine.checkProcess()
        guard awaited == nil else {
            throw NightjarError(.invalidArgument, "another task already waits for the next change of the resource")
        }
        let future = engine.pending(for: wait)
        future.abandon = { [weak self, weak future] in
            guard let self, let future else { return }
            awaited = nil
            engine.drop(future)
        }
        awaited = future
        return future
    }
}
