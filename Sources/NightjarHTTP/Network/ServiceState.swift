/// The state of the network that NetworkManager or the desktop portal reports.
package struct ServiceState: Sendable, Equatable {
    package var isMetered: Bool?
    package var isCaptive: Bool?
    package var kind: NetworkStatus.Kind?

    /// The properties of NetworkManager. Values: NetworkManager's D-Bus API, NMMetered and NMConnectivityState.
    ///
    /// - Parameters:
    ///   - metered: `Metered`. 0 unknown, 1 yes, 2 no, 3 guessed yes, 4 guessed no.
    ///   - connectivity: `Connectivity`. 0 unknown, 1 none, 2 portal, 3 limited, 4 full.
    ///   - connectionType: `PrimaryConnectionType`, such as `802-11-wireless`. Empty if there is none.
    package init(metered: UInt32, connectivity: UInt32, connectionType: String) {
        isMetered =
            switch metered {
            case 1, 3: true
            case 2, 4: false
            default: nil
            }
        isCaptive =
            switch connectivity {
            case 2: true
            case 3, 4: false
            default: nil
            }
        kind =
            switch connectionType {
            case "": nil
            case "802-3-ethernet": .ethernet
            case "802-11-wireless", "802-11-olpc-mesh", "wifi-p2p": .wifi
            case "gsm", "cdma", "wimax": .cellular
            case "bluetooth": .bluetooth
            case "vpn", "wireguard", "tun": .vpn
            default: .other
            }
    }

    /// The status of the desktop portal, version 3 of `org.freedesktop.portal.NetworkMonitor`. The portal does not
    /// report the kind of the connection. A value outside of the range is unknown.
    ///
    /// - Parameters:
    ///   - available: `available`, 0 or 1. Without a network, `metered` has no meaning.
    ///   - metered: `metered`, 0 or 1.
    ///   - connectivity: `connectivity`. 1 local only, 2 limited, 3 captive portal, 4 full.
    package init(available: UInt32, metered: UInt32, connectivity: UInt32) {
        isMetered =
            switch metered {
            case 0 where available != 0: false
            case 1 where available != 0: true
            default: nil
            }
        isCaptive =
            switch connectivity {
            case 3: true
            case 2, 4: false
            default: nil
            }
        kind = nil
    }
}
