import NightjarHTTP
import NightjarTransport

/// Observes the network for a resource. Used on the loop.
final class ResourceNetwork {
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
            if isUsable == true, !(wasUsable ?? !resource.isOffline) { resource.networkReturned() }
        }
    }

    func stop() {
        watch.take()?.stop()
        isUsable = nil
    }
}
