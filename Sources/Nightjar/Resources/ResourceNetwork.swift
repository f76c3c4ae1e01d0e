import NightjarHTTP
import NightjarTransport

/// Observes the network for a resource. Used on the loop.
final class ResourceNetwork: @unchecked Sendable {
    private unowned let resource: ResourceController
    private var watch: NetworkWatch?
    /// Whether the resource can be loaded over the network. Nil: unknown.
    private var isUsable: Bool?

    init(_ resource: ResourceController) { self.resource = resource }

    func isWanted(_ isWanted: Bool) {
        guard isWanted != (watch != nil) else { return }
        guard isWanted else { return stop() }
        let watch = NetworkWatch(resource.loop.eventLoop)
        self.watch = watch
        watch.start { [weak resource, weak self] change in
            guard let resource, let self else { return }
            let wasUsable = isUsable
            isUsable = resource.permits(change.status)
            // A load may have failed before the first status was known.
            if isUsable == true, !(wasUsable ?? !resource.isOffline) { reload(after: ResourceNetwork.rechecks) }
        }
    }

    /// Loads the resource now, and again after each wait if the load has failed because there was no network: the client
    /// may receive the new status a moment later than the resource.
    private func reload(after waits: ArraySlice<Duration>) {
        resource.networkReturned()
        guard let wait = waits.first else { return }
        resource.loop.after(wait) { [weak resource, weak self] in
            guard let resource, let self, isUsable == true, resource.isOffline else { return }
            reload(after: waits.dropFirst())
        }
    }

    private static let rechecks: ArraySlice<Duration> = [.milliseconds(100), .seconds(1)]

    func stop() {
        watch.take()?.stop()
        isUsable = nil
    }
}
