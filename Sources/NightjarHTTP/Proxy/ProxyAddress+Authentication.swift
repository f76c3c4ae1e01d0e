extension ProxyAddress {
    /// Returns the error for a 407 response. RFC 9110 section 11.7.
    ///
    /// - Parameter headers: the fields of the response.
    public func authenticationRequired(by headers: Headers) -> NightjarError {
        NightjarError(.connect, authenticationMessage(headers), phase: .connect, code: 407)
    }

    private func authenticationMessage(_ headers: Headers) -> String {
        if userInfo != nil {
            return "the proxy \(self) rejected the user name and password (407); correct them in its URL"
        }
        let schemes = headers.values("Proxy-Authenticate").map { value in
            String(value.prefix { $0 != " " && $0 != "," })
        }
        let requested = schemes.isEmpty ? "" : ", by " + schemes.prefix(4).map { quoted($0) }.joined(separator: " or ")
        return "the proxy \(self) requires authentication\(requested) (407); add a user name and password to its URL"
    }
}
