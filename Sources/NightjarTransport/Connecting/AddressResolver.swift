import NIOCore
import NIOPosix
import NightjarHTTP
import NightjarSystem

/// Resolves host names with the configured entries or the system's resolver. The system's resolver blocks, so it runs on
/// separate threads.
final class AddressResolver: @unchecked Sendable {
    private let loop: any EventLoop
    private let entries: ResolveEntries
    /// Returns the addresses of a host. Blocks.
    typealias LookUp = @Sendable (_ host: String, _ port: Int) throws -> [SocketAddress]

    private let lookUp: LookUp
    private let threads: WorkerThreads
    private var isShutDown = false
    private var lookups: [String: EventLoopPromise<[SocketAddress]>] = [:]
    /// The cached addresses by host and port, so that not every connection resolves the name again.
    private var cache: [String: (addresses: [SocketAddress], until: NIODeadline)] = [:]
    /// The number of calls of ``forgetAll()``.
    private(set) var generation = 0

    init(
        loop: any EventLoop, entries: ResolveEntries, lookUp: @escaping LookUp = AddressResolver.queryResolver
    ) {
        self.loop = loop
        self.entries = entries
        self.lookUp = lookUp
        threads = WorkerThreads(2, for: loop, .lookups)
    }

    /// Fails the lookups in progress, and each lookup that begins later. SwiftNIO begins the lookup of a connection attempt
    /// in a later iteration of the loop, also if the attempt has ended before.
    func shutDown() {
        isShutDown = true
        threads.shutDown()
        for lookup in lookups.values { lookup.fail(ChannelError.ioOnClosedChannel) }
    }

    /// Returns the addresses that need no lookup: those of an entry, or `host` if it is an address. Otherwise, nil.
    func known(_ host: String, _ port: Int) -> [SocketAddress]? {
        if let addresses = entries.addresses(of: host, port: port) {
            return addresses.compactMap { try? SocketAddress(ipAddress: $0.description, port: port) }
        }
        return (try? SocketAddress(ipAddress: host, port: port)).map { [$0] }
    }

    // MARK: Lookups, on the loop

    /// Returns the cached addresses of a host. Nil if there are none.
    func cached(_ host: String, _ port: Int) -> [SocketAddress]? {
        guard let entry = cache["\(host):\(port)"], entry.until > .now() else { return nil }
        return entry.addresses
    }

    /// Caches the addresses of a host.
    ///
    /// - Parameter generation: The value of ``generation`` when the lookup began.
    func store(_ addresses: [SocketAddress], of host: String, _ port: Int, since generation: Int) {
        guard generation == self.generation else { return }
        if cache.count >= AddressResolver.maximumCached { cache.removeAll() }
        cache["\(host):\(port)"] = (addresses, .now() + AddressResolver.lifetime)
    }

    /// Removes a host from the cache. Called after a connection failed, because the addresses may have changed.
    func forget(_ host: String, _ port: Int) {
        cache["\(host):\(port)"] = nil
    }

    /// Removes all hosts from the cache. Called after a change of the network, because the addresses of a name may
    /// depend on the network. The results of lookups in progress are not cached.
    func forgetAll() {
        cache = [:]
        generation &+= 1
    }

    /// Returns all addresses: those of an entry in its order, otherwise those of the system in its order of preference.
    ///
    /// Concurrent lookups of the same host and port, including the A and AAAA queries of one connection, share one
    /// system call.
    func addresses(_ host: String, _ port: Int) -> EventLoopFuture<[SocketAddress]> {
        if let known = known(host, port) { return loop.makeSucceededFuture(known) }
        let key = "\(host):\(port)"
        if let cached = cached(host, port) { return loop.makeSucceededFuture(cached) }
        if let lookup = lookups[key] { return lookup.futureResult }
        guard !isShutDown else { return loop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
        let lookup = loop.makePromise(of: [SocketAddress].self)
        threads.run("looking up \(host)", failsAs: .connect) { [lookUp] () throws(NightjarError) in
            Result { try lookUp(host, port) }
        } then: { result in
            switch result {
            case .success(let found): lookup.completeWith(found)
            case .failure(let error): lookup.fail(error)
            }
        }
        lookups[key] = lookup
        let generation = generation
        lookup.futureResult.assumeIsolated().whenComplete { result in
            self.lookups[key] = nil
            guard case .success(let addresses) = result else { return }
            self.store(addresses, of: host, port, since: generation)
        }
        return lookup.futureResult
    }

    /// The time for which addresses are cached. getaddrinfo returns no TTL. 60 s is curl's default.
    private static let lifetime = TimeAmount.seconds(60)
    private static let maximumCached = 1024

    @Sendable
    static func queryResolver(_ host: String, _ port: Int) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = streamSocket
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            throw LookupFailure(status: status, code: status == EAI_SYSTEM ? errno : 0)
        }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = list
        while let current = entry?.pointee {
            if let address = current.ai_addr {
                switch current.ai_family {
                case AF_INET:
                    address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                        addresses.append(SocketAddress($0.pointee, host: host))
                    }
                case AF_INET6:
                    address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                        addresses.append(SocketAddress($0.pointee, host: host))
                    }
                default: break
                }
            }
            entry = current.ai_next
        }
        return addresses
    }
}

/// An error of getaddrinfo.
struct LookupFailure: Error {
    var status: Int32
    var code: Int32

    var reason: String {
        code != 0 ? String(cString: strerror(code)) : String(cString: gai_strerror(status))
    }
}
