extension Origin {
    /// Whether the server runs on this machine, so that data does not leave the machine: a loopback host or a Unix
    /// socket.
    package var isLoopback: Bool { socket != nil || Origin.isLoopback(host) }

    /// Whether a host is the loopback host. RFC 6761 section 6.3.
    package static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "::1"
            || host.hasPrefix("127.") && host.utf8.allSatisfy { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }
    }
}
