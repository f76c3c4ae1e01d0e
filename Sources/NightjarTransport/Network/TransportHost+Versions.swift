import NightjarHTTP

extension TransportConfiguration {
    /// The versions of HTTP for the connections along a route.
    func versions(for origin: Origin, _ route: Route) -> HTTPVersions {
        if case .forwarded = route { return .http1 }
        guard versions.contains(.http2), HTTP2Session.unavailability == nil else { return .http1 }
        if !versions.contains(.http1_1) { return .http2 }
        return origin.isTLS ? .negotiated : .http1
    }
}

extension HTTPVersions {
    /// Whether exchanges share a connection.
    var sharing: NetworkTransport.Pool.Sharing {
        switch self {
        case .http1: .never
        case .negotiated: .possible
        case .http2: .always
        }
    }
}
