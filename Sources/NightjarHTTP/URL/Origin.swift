import NIOCore

/// A scheme, host and port, or a Unix domain socket. Connections, credentials and cache entries belong to an origin.
/// RFC 6454 section 4.
///
/// An origin has the size of one pointer and is cheap to compare, because it is the key of many tables.
public struct Origin: Hashable, Sendable, CustomStringConvertible {
    private final class Storage: Sendable {
        let isTLS: Bool
        let host: String
        let port: Int
        let hostField: String
        let hostLine: String
        let socket: UnixSocket?
        let fingerprint: Int

        init(isTLS: Bool, host: String, port: Int, socket: UnixSocket?) {
            self.socket = socket
            self.isTLS = isTLS
            self.host = host
            self.port = port
            let written = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
            hostField = port == Origin.defaultPort(isTLS: isTLS) ? written : written + ":" + String(port)
            hostLine = "Host: \(hostField)\r\n"
            var hasher = Hasher()
            hasher.combine(isTLS)
            hasher.combine(port)
            hasher.combine(host)
            hasher.combine(socket)
            fingerprint = hasher.finalize()
        }
    }

    private let storage: Storage

    /// Creates an origin. The caller must have validated `host` (``HostSyntax``) and `port`.
    init(isTLS: Bool, host: String, port: Int) {
        storage = Storage(isTLS: isTLS, host: host, port: port, socket: nil)
    }

    /// Creates the origin of a server that listens on a Unix domain socket. The Host field is `localhost`.
    public init(socket: UnixSocket) {
        storage = Storage(isTLS: false, host: "localhost", port: Origin.defaultPort(isTLS: false), socket: socket)
    }

    /// True for https.
    public var isTLS: Bool { storage.isTLS }
    /// The host in lower case. IPv6 addresses have no brackets. `localhost` for a socket.
    public var host: String { storage.host }
    /// The port, 1 to 65535. 80 for a socket.
    public var port: Int { storage.port }
    /// The value of the Host field. IPv6 addresses are in brackets, and the scheme's default port is omitted. RFC 9110
    /// section 7.2.
    public var hostField: String { storage.hostField }
    /// The complete Host field line with its CRLF.
    var hostLine: String { storage.hostLine }

    /// The Unix domain socket on which the server listens. Nil for TCP.
    public var socket: UnixSocket? { storage.socket }

    /// The host and port, including a default port, for CONNECT requests and messages (RFC 3986 section 3.2).
    /// `unix:/path` for a socket.
    public var authority: String {
        if let socket { return socket.description }
        return (host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host) + ":\(port)"
    }

    public static func defaultPort(isTLS: Bool) -> Int { isTLS ? 443 : 80 }

    /// Returns true if the scheme is the same and `authority` equals ``hostField``, the usual form of this origin in a
    /// URL. False for a socket.
    func isWritten(_ authority: UnsafeRawBufferPointer, isTLS: Bool) -> Bool {
        isTLS == storage.isTLS && ASCII.isSame(authority, storage.hostField) && storage.socket == nil
    }

    public static func == (a: Origin, b: Origin) -> Bool {
        if a.storage === b.storage { return true }
        return a.storage.fingerprint == b.storage.fingerprint && a.isTLS == b.isTLS && a.port == b.port
            && a.host == b.host && a.socket == b.socket
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(storage.fingerprint) }

    /// The serialized origin: `https://example.com:8443` or `http+unix://%2Frun%2Fdocker.sock`.
    public var description: String {
        guard let socket else { return (isTLS ? "https://" : "http://") + hostField }
        var text = ByteBuffer(string: "http+unix://")
        PercentEncoding.writeComponent(socket.path, into: &text)
        return String(buffer: text)
    }
}
