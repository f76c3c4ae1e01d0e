/// The state of the machine's network, as the system reports it.
///
/// The state is only a hint: a server can be reachable although the status is offline, or unreachable although the
/// status is online. Loopback addresses and Unix sockets need no network.
public struct NetworkStatus: Sendable, Equatable {
    /// True if a running interface has a default route and the machine has an address of the route's IP version. Also
    /// true if the state is unknown.
    public var isOnline: Bool
    /// Whether data over the network is charged or limited. Nil if unknown, for example without NetworkManager
    /// and the desktop portal.
    public var isMetered: Bool?
    /// Whether a captive portal intercepts requests. Nil if unknown.
    public var isCaptive: Bool?
    /// Whether the program has asked for low data usage.
    public var isConstrained: Bool
    /// The name of the interface of the preferred default route, such as `wlan0`. Nil if there is none.
    public var interface: String?
    /// The kind of the primary connection. Nil if unknown, for example without NetworkManager.
    public var kind: Kind?

    /// The kind of a network connection.
    public enum Kind: String, Sendable {
        case ethernet, wifi, cellular, bluetooth, vpn, other
    }

    public init(
        isOnline: Bool = true, isMetered: Bool? = nil, isCaptive: Bool? = nil, isConstrained: Bool = false,
        interface: String? = nil, kind: Kind? = nil
    ) {
        self.isOnline = isOnline
        self.isMetered = isMetered
        self.isCaptive = isCaptive
        self.isConstrained = isConstrained
        self.interface = interface
        self.kind = kind
    }
}

/// A change of the network.
package struct NetworkChange: Sendable, Equatable {
    package var status: NetworkStatus
    /// Whether routes, addresses or interfaces have changed or may have changed, or the machine has resumed from sleep.
    /// Open connections and known addresses may then be useless.
    package var pathChanged: Bool

    package init(_ status: NetworkStatus, pathChanged: Bool) {
        self.status = status
        self.pathChanged = pathChanged
    }
}
