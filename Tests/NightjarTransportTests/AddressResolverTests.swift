import NIOCore
import NIOEmbedded
import NightjarHTTP
import Testing

@testable import NightjarTransport

/// Lookups of a client that is being closed.
@Suite struct AddressResolverTests {
    private let loop = EmbeddedEventLoop()

    private func resolver() -> AddressResolver {
        AddressResolver(loop: loop, entries: ResolveEntries()) { _, _ in [] }
    }

    /// Returns whether a lookup has failed.
    private func hasFailed(_ lookup: EventLoopFuture<[SocketAddress]>) -> Bool {
        var hasFailed = false
        lookup.assumeIsolated().whenFailure { _ in hasFailed = true }
        return hasFailed
    }

    @Test func shutdownFailsLookups() {
        let resolver = resolver()
        let lookup = resolver.addresses("first.test", 80)
        #expect(!hasFailed(lookup))
        resolver.shutDown()
        #expect(hasFailed(lookup))
    }

    /// A lookup that never ends would keep its connection attempt in memory.
    @Test func lookupsAfterTheShutdownFail() {
        let resolver = resolver()
        resolver.shutDown()
        #expect(hasFailed(resolver.addresses("second.test", 80)))
        #expect(!hasFailed(resolver.addresses("127.0.0.1", 80)))
    }
}
