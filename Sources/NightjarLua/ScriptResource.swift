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
    private let resource: ResourceController
    private var observer: ResourceObserver?
    private var snapshot: ResourceController.Snapshot?
    private(set) var hasEnded = false
    private let waiter: ChangeWait

    init(_ resource: ScriptResource) {
        let engine = resource.engine
        waiter = ChangeWait(engine, "the resource")
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
        waiter.end()
    }

    private func add(_ snapshot: ResourceController.Snapshot) {
        guard !hasEnded else { return }
        self.snapshot = snapshot
        waiter.end()
    }

    func take() -> ResourceController.Snapshot? { snapshot.take() }

    func next(for wait: OpaquePointer) throws(NightjarError) -> Future { try waiter.begin(wait) }
}
