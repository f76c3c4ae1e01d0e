import NIOCore
import NightjarHTTP

/// The addresses to which the connections of a client may be opened.
struct AddressRules: Sendable {
    /// The only permitted family; nil: both are permitted.
    private let family: IPFamily?
    /// The family of the local address, which connections of this machine must have; nil: there is no local address.
    private let localFamily: IPFamily?
    private let filter: AddressFilter?

    /// - Throws: `invalid_argument` if options contradict each other.
    init(_ configuration: TransportConfiguration) throws(NightjarError) {
        filter = configuration.addressFilter ?? (configuration.requestsAddresses ? .unrestricted : nil)
        guard filter == nil || configuration.unixSocket == nil else {
            throw NightjarError(
                .invalidArgument,
                "unix_socket and address_filter cannot be used together, because connections to a socket have no "
                    + "address; set only one of them")
        }
        family = configuration.ipFamily
        localFamily = configuration.localAddress?.family
        if let family, let localFamily, family != localFamily {
            throw NightjarError(
                .invalidArgument,
                "local_address is an \(localFamily.name) address, but ip_family is \(family.rawValue); change one of "
                    + "them")
        }
    }

    /// Returns the permitted addresses of a peer. The filter does not apply to the addresses of proxies, which the program
    /// has chosen.
    ///
    /// - Parameters:
    ///   - isConnectedByProxy: Whether a proxy opens the connection to the address.
    ///   - report: Receives the addresses that the filter denies, if any.
    /// - Throws: `dns` if the peer has only addresses of another family; `invalid_request` if the filter denies all
    ///   addresses.
    func permitted(
        _ addresses: [SocketAddress], of peer: Peer, isConnectedByProxy: Bool = false,
        reporting report: (AddressFilter.Denied) -> Void
    ) throws(NightjarError) -> [SocketAddress] {
        var addresses = addresses
        if let required = family ?? (isConnectedByProxy ? nil : localFamily), !addresses.isEmpty {
            addresses = addresses.filter { $0.address?.family == required }
            guard !addresses.isEmpty else { throw missing(required, of: peer) }
        }
        guard let filter, !peer.isProxy else { return addresses }
        var denied = AddressFilter.Denied(by: .addressFilter, host: peer.host, of: addresses.count)
        addresses = addresses.filter { socketAddress in
            guard let address = socketAddress.address else { return false }
            guard let reason = filter.denial(of: address) else { return true }
            denied.add(address, because: reason)
            return false
        }
        guard let denial = denied.entries.first?.reason else { return addresses }
        report(denied)
        guard !addresses.isEmpty else { throw AddressRules.denied(denial, peer.place) }
        return addresses
    }

    /// Checks whether the client may send requests to an origin along a route, before a connection is opened.
    ///
    /// - Throws: `invalid_request` if the address of the server cannot be checked, or if the filter denies the address
    ///   that a proxy receives.
    func check(_ origin: Origin, _ route: Route) throws(NightjarError) {
        guard let filter else { return }
        switch route {
        case .direct: return
        case .socket(let socket):
            throw NightjarError(
                .invalidRequest,
                "connecting to \(socket) failed: address_filter does not allow Unix sockets; use a client without "
                    + "address_filter",
                phase: .connect)
        case .tunnelled(let proxy) where proxy.kind == .socks5: return
        case .forwarded(let proxy), .tunnelled(let proxy):
            if let address = try? IPAddress(origin.host) {
                guard let reason = filter.denial(of: address) else { return }
                throw AddressRules.denied(reason, origin.authority)
            }
            guard !filter.allowsProxies else { return }
            throw NightjarError(
                .invalidRequest,
                "the request to \(origin.authority) failed: the proxy \(proxy) resolves the name, so address_filter "
                    + "cannot check the address; set proxy to false, use a socks5 proxy, or set "
                    + "address_filter.allow_proxies",
                phase: .connect)
        }
    }

    /// The message does not contain the address of a name, because it may be shown to the person who has chosen the name.
    private static func denied(_ denial: String, _ place: String) -> NightjarError {
        NightjarError(
            .invalidRequest,
            "connecting to \(place) failed: address_filter denies its address (\(denial)); if the server is trusted, "
                + "add the address to address_filter.allow",
            phase: .connect)
    }

    private func missing(_ required: IPFamily, of peer: Peer) -> NightjarError {
        let reason = family.map { "ip_family is \($0.rawValue)" } ?? "local_address is an \(required.name) address"
        return NightjarError(
            .dns,
            "connecting to \(peer.place)\(peer.purpose) failed: the host has no \(required.name) address, and \(reason); "
                + "change this option, or use another host",
            phase: .dns)
    }
}

extension SocketAddress {
    /// Nil for a Unix socket.
    var address: IPAddress? {
        switch self {
        case .v4(let address):
            withUnsafeBytes(of: address.address.sin_addr.s_addr) { IPAddress(bytes: Array($0)) }
        case .v6(let address): withUnsafeBytes(of: address.address.sin6_addr) { IPAddress(bytes: Array($0)) }
        case .unixDomainSocket: nil
        }
    }
}
