import NIOCore
import NightjarHTTP
import NightjarSystem

/// The interface and the local address of a client's TCP connections.
struct LocalEnd: Sendable {
    private let interface: String?
    private let address: IPAddress?

    /// Returns nil if neither is configured.
    ///
    /// - Throws: `invalid_argument` if the name of the interface is invalid.
    init?(_ configuration: TransportConfiguration) throws(NightjarError) {
        interface = configuration.interface
        address = configuration.localAddress
        if let interface {
            // The kernel ignores the rest of a longer name.
            let longest = Int(IFNAMSIZ) - 1
            guard 1...longest ~= interface.utf8.count, !interface.utf8.contains(0) else {
                throw NightjarError(
                    .invalidArgument,
                    "interface must be the name of a network interface with 1 to \(longest) bytes, such as \"eth0\", got "
                        + quoted(interface))
            }
        }
        if interface == nil && address == nil { return nil }
    }

    /// Binds the socket of a channel that is not connected.
    ///
    /// - Throws: `connect` if the system refuses.
    func bind(_ channel: any Channel) throws(NightjarError) {
        guard let socket = SocketHandle(channel) else { return }
        if let interface {
            let code = socket.use(interface: interface, hasAddress: address != nil)
            guard code == 0 else { throw LocalEnd.failure("the interface \(quoted(interface))", hint(code), code) }
        }
        if let address {
            let code = socket.bind(to: address.bytes, of: interface)
            guard code == 0 else {
                throw LocalEnd.failure(
                    "the local address \(address)", "set local_address to an address of this machine", code)
            }
        }
    }

    /// Returns the action that may help after a failure to use the interface.
    private func hint(_ code: CInt) -> String {
        switch code {
        case EPERM: "remove local_address, or give the process CAP_NET_RAW"
        case EADDRNOTAVAIL: "the interface has no address of this version of IP; set ip_family"
        default: "set interface to the name of an interface of this machine"
        }
    }

    private static func failure(_ what: String, _ hint: String, _ code: CInt) -> NightjarError {
        NightjarError(
            .connect, "binding a connection to \(what) failed: \(String(cString: strerror(code))); \(hint)",
            phase: .connect, code: code)
    }
}
