import NIOHTTP1

extension HTTPRequestHead {
    /// True if the decoder reads no further request, because the client has requested another protocol.
    var endsParsing: Bool {
        method == .CONNECT || (headers.hasToken("upgrade", in: "connection") && headers.contains(name: "upgrade"))
    }
}

extension HTTPHeaders {
    /// True if a comma-separated field contains a token, in any case.
    ///
    /// - Parameter token: in lower case.
    func hasToken(_ token: String, in name: String) -> Bool {
        self[canonicalForm: name].contains { $0.lowercased() == token }
    }
}
