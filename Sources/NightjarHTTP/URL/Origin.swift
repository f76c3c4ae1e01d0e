import NIOCore

/// Scheme, host and port: what connections, credentials and caches belong to. RFC 6454 section 4.
///
/// Small to pass around, and cheap to compare: it is a key of every pool.
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

    /// The caller has checked `host` (``HostSyntax``) and `port`.
    init(isTLS: Bool, host: String, port: Int) {
        storage = Storage(isTLS: isTLS, host: host, port: port, socket: nil)
    }

    /// What listens at a socket of this machine, which hears itself called localhost.
    public init(socket: UnixSocket) {
        storage = Storage(isTLS: false, host: "localhost", port: Origin.defaultPort(isTLS: false), socket: socket)
    }

    /// https.
    public var isTLS: Bool { storage.isTLS }
    /// In lower case; an IPv6 address without brackets.
    public var host: String { storage.host }
    /// 1 to 65535.
    public var port: Int { storage.port }
    /// The value of the Host field: an IPv6 address in brackets, the scheme's default port left out. RFC 9110 section
    /// 7.2.
    public var hostField: String { storage.hostField }
    /// The Host field as a line, with its CRLF.
    var hostLine: String { storage.hostLine }

    /// Where it is reached, when that is no host's port.
    public var socket: UnixSocket? { storage.socket }

    /// Host and port, the port always: what a message names. RFC 3986 section 3.2. `unix:/path` for a socket.
    public var authority: String {
        if let socket { return socket.description }
        return (host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host) + ":\(port)"
    }

    public static func defaultPort(isTLS: Bool) -> Int { isTLS ? 443 : 80 }

    /// Whether `authority` is just how this origin is written in a URL of a call.
    func isWritten(_ authority: UnsafeRawBufferPointer, isTLS: Bool) -> Bool {
        isTLS == storage.isTLS && ASCII.isSame(authority, storage.hostField) && storage.socket == nil
    }

    public static func == (a: Origin, b: Origin) -> Bool {
        if a.storage === b.storage { return true }
        return a.storage.fingerprint == b.storage.fingerprint && a.isTLS == b.isTLS && a.port == b.port
            && a.host == b.host && a.socket == b.socket
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(storage.fingerprint) }

    /// `https://example.com:8443`, or `http+unix://%2Frun%2Fdocker.sock`
    public var description: String {
        guard let socket else { return (isTLS ? "https://" : "http://") + hostField }
        var text = ByteBuffer(string: "http+unix://")
        PercentEncoding.writeComponent(socket.path, into: &text)
        return String(buffer: text)
    }
}
