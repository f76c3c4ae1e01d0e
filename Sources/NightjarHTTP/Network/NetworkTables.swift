/// The interfaces, addresses and default routes of the machine.
///
/// The tables are bounded. Entries beyond the bounds are ignored.
package struct NetworkTables: Sendable, Equatable {
    package enum Family: UInt8, Sendable { case ipv4 = 4, ipv6 = 6 }

    package struct Link: Sendable, Equatable {
        package var name: String
        /// Up, with a carrier, and not the loopback interface.
        package var isRunning: Bool

        package init(name: String, isRunning: Bool) {
            self.name = name
            self.isRunning = isRunning
        }
    }

    /// An address of global or site scope. Addresses of other scopes reach no other network and are not stored.
    package struct Address: Sendable, Hashable {
        package var family: Family
        package var interface: Int32
        /// The first 8 bytes of an IPv6 address, whose last 8 bytes are in ``low``. Zero for IPv4: ``low`` contains the
        /// address.
        package var high: UInt64
        package var low: UInt64

        package init(family: Family, interface: Int32, high: UInt64, low: UInt64) {
            self.family = family
            self.interface = interface
            self.high = high
            self.low = low
        }
    }

    package struct Route: Sendable, Hashable {
        package var family: Family
        package var table: UInt32
        package var interface: Int32
        package var metric: UInt32
        /// The address of the gateway, like ``Address/high`` and ``Address/low``. 0 if there is none.
        package var gatewayHigh: UInt64
        package var gatewayLow: UInt64

        package init(
            family: Family, table: UInt32 = 254, interface: Int32, metric: UInt32 = 0, gatewayHigh: UInt64 = 0,
            gatewayLow: UInt64 = 0
        ) {
            self.family = family
            self.table = table
            self.interface = interface
            self.metric = metric
            self.gatewayHigh = gatewayHigh
            self.gatewayLow = gatewayLow
        }
    }

    package enum Change: Sendable, Equatable {
        case link(Int32, Link)
        case linkRemoved(Int32)
        case address(Address)
        case addressRemoved(Address)
        case route(Route)
        case routeRemoved(Route)
    }

    private var links: [Int32: Link] = [:]
    private var addresses: Set<Address> = []
    private var routes: Set<Route> = []

    package init() {}

    /// Applies a change. Returns false if it changes nothing, because the table is full or the system repeats what is
    /// known, for example when the lifetime of an address is extended.
    @discardableResult
    package mutating func apply(_ change: Change) -> Bool {
        switch change {
        case .link(let index, let link):
            guard links[index] != link, links[index] != nil || links.count < NetworkTables.maximum else { return false }
            links[index] = link
            return true
        case .linkRemoved(let index):
            return links.removeValue(forKey: index) != nil
        case .address(let address):
            guard addresses.count < NetworkTables.maximum else { return false }
            return addresses.insert(address).inserted
        case .addressRemoved(let address):
            return addresses.remove(address) != nil
        case .route(let route):
            guard routes.count < NetworkTables.maximum else { return false }
            return routes.insert(route).inserted
        case .routeRemoved(let route):
            return routes.remove(route) != nil
        }
    }

    /// The default routes of running interfaces for whose family the machine has an address, the preferred route first.
    ///
    /// Routes of unnumbered interfaces use an address of another interface, so any address of the family counts.
    private var usableRoutes: [Route] {
        let families = Set(addresses.map(\.family))
        return routes.filter { links[$0.interface]?.isRunning == true && families.contains($0.family) }
            .sorted { $0.order < $1.order }
    }

    package var isOnline: Bool { !usableRoutes.isEmpty }

    /// The interface of the preferred default route.
    package var interface: String? { usableRoutes.first.flatMap { links[$0.interface]?.name } }

    /// The routes and addresses that connections to other networks use. Connections and resolved names may be useless
    /// if the path differs.
    package var path: Path {
        let routes = usableRoutes
        let used = Set(routes.map(\.interface))
        return Path(routes: routes, addresses: addresses.filter { used.contains($0.interface) })
    }

    package struct Path: Sendable, Equatable {
        fileprivate var routes: [Route]
        fileprivate var addresses: Set<Address>
    }

    /// The maximum number of entries of each table.
    private static let maximum = 4096
}

extension NetworkTables.Route {
    /// The order of preference: IPv4 first, then the metric. The remaining members make the order total.
    fileprivate var order: (UInt8, UInt32, UInt32, Int32, UInt64, UInt64) {
        (family.rawValue, metric, table, interface, gatewayHigh, gatewayLow)
    }
}
