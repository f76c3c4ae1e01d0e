/// A socket of this machine that HTTP is spoken over, with the file system's permissions in the place of a port. unix(7).
public struct UnixSocket: Hashable, Sendable, CustomStringConvertible {
    /// Absolute.
    public let path: String

    /// Bytes that a sockaddr_un has room for, less the NUL behind them.
    public static let longestPath = 107

    /// - Throws: `invalid_url`, saying what to do.
    public init(_ path: String) throws(NightjarError) {
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw NightjarError(
                .invalidURL,
                "the path of a unix socket must be absolute, not \(quoted(path)): what it is relative to may change")
        }
        guard path.utf8.count <= UnixSocket.longestPath else {
            throw NightjarError(
                .invalidURL,
                "the path of the unix socket has \(path.utf8.count) bytes, and the system has room for "
                    + "\(UnixSocket.longestPath); link a shorter one to it")
        }
        guard !path.utf8.contains(0) else {
            throw NightjarError(.invalidURL, "the path of the unix socket holds a NUL")
        }
        self.path = path
    }

    /// By bytes: the file system knows no canonical equivalence, and the connections of one socket are not the other's.
    public static func == (a: UnixSocket, b: UnixSocket) -> Bool { a.path.isExactly(b.path) }

    public func hash(into hasher: inout Hasher) { path.hashExactly(into: &hasher) }

    /// `unix:/run/docker.sock`
    public var description: String { "unix:\(path)" }
}

extension RequestURL {
    /// Reads what relative targets are put behind: a URL, or a local daemon's socket as `unix:/run/docker.sock` or, with a
    /// path behind it, `http+unix://%2Frun%2Fdocker.sock/v1.40`.
    ///
    /// Only here: a call's own target, let alone a redirect, leads to no socket that the client was not made for.
    ///
    /// - Throws: `invalid_url`, saying what to do.
    public init(base text: String) throws(NightjarError) {
        if let rest = RequestURL.behind("http+unix://", text) {
            let name = rest.utf8.prefix { !"/?#".utf8.contains($0) }
            let path = String(validating: PercentEncoding.decoded(name), as: UTF8.self)
            guard let path, name.count > 0 else {
                throw NightjarError(
                    .invalidURL,
                    "write the socket's path with %2F for each slash: http+unix://%2Frun%2Fdocker.sock/path")
            }
            let behind = try RequestURL("http://localhost" + rest[name.endIndex...])
            self.init(origin: Origin(socket: try UnixSocket(path)), target: behind.target, userInfo: nil)
        } else if let rest = RequestURL.behind("unix:", text) {
            let path = rest.utf8.starts(with: "//".utf8) ? rest.dropFirst(2) : rest
            self.init(origin: Origin(socket: try UnixSocket(String(path))), target: "/", userInfo: nil)
        } else {
            try self.init(text)
        }
    }

    private static func behind(_ scheme: String, _ text: String) -> Substring? {
        let start = text.utf8.prefix(scheme.utf8.count)
        guard ASCII.equalIgnoringCase(scheme.utf8, start) else { return nil }
        return text[start.endIndex...]
    }
}
