extension ProxyAddress {
    /// What a 407 means for whoever set up the proxy. RFC 9110 section 11.7.
    public func loginAsked(by headers: Headers) -> NightjarError {
        NightjarError(.connect, loginMessage(headers), phase: .connect, code: 407)
    }

    private func loginMessage(_ headers: Headers) -> String {
        if userInfo != nil { return "the proxy \(self) did not accept the user name and password given for it (407)" }
        let schemes = headers.values("Proxy-Authenticate").map { value in
            String(value.prefix { $0 != " " && $0 != "," })
        }
        let asked = schemes.isEmpty ? "" : ", by " + schemes.prefix(4).map { quoted($0) }.joined(separator: " or ")
        return "the proxy \(self) wants a login\(asked) (407); give its URL a user name and a password"
    }
}
