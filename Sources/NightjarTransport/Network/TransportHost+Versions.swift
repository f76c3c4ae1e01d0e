import NightjarHTTP

extension TransportConfiguration {
    /// Returns the versions of HTTP for the connections along a route, and why HTTP/2 is not among them if the library
    /// is missing.
    ///
    /// - Throws: `connect` if HTTP/1.1 is not enabled and the library is missing.
    func versions(
        for origin: Origin, _ route: Route
    ) throws(NightjarError) -> (HTTPVersions, http1Reason: String?) {
        let allowsHTTP1 = versions.contains(.http1_1)
        if case .forwarded = route { return (.http1, nil) }
        guard versions.contains(.http2), origin.isTLS || !allowsHTTP1 else { return (.http1, nil) }
        guard let reason = HTTP2Session.unavailability else { return (allowsHTTP1 ? .negotiated : .http2, nil) }
        guard allowsHTTP1 else {
            throw NightjarError(
                .connect, "HTTP/2 is not available (\(reason)), and http.versions excludes HTTP/1.1", phase: .connect)
        }
        return (.http1, "HTTP/2 is not available (\(reason))")
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
