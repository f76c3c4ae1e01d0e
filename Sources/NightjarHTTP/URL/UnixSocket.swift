import NightjarSystem

/// The address of an HTTP server that listens on a Unix domain socket. unix(7).
public struct UnixSocket: Hashable, Sendable, CustomStringConvertible {
    /// The absolute path of the socket.
    public let path: String

    /// The maximum length of the path in bytes: the size of sun_path without the NUL.
    public static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// - Throws: `invalid_url` if the path is not absolute, too long or contains NUL.
    public init(_ path: String) throws(NightjarError) {
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw NightjarError(
                .invalidURL,
                "the path of a unix socket must be absolute, got \(quoted(path)); the working directory may change")
        }
        guard path.utf8.count <= UnixSocket.longestPath else {
            throw NightjarError(
                .invalidURL,
                "the path of the unix socket has \(path.utf8.count) bytes, but the system allows at most "
                    + "\(UnixSocket.longestPath); use a shorter path, such as a symbolic link")
        }
        guard !path.utf8.contains(0) else {
            throw NightjarError(.invalidURL, "the path of the unix socket contains a NUL; remove it")
        }
        self.path = path
    }

    /// Compares the bytes of the paths, as the file system does.
    public static func == (a: UnixSocket, b: UnixSocket) -> Bool { a.path.isExactly(b.path) }

    public func hash(into hasher: inout Hasher) { path.hashExactly(into: &hasher) }

    /// The socket in the form `unix:/run/docker.sock`.
    public var description: String { "unix:\(path)" }
}

extension RequestURL {
    /// Parses a base URL: an http or https URL, or the socket of a local server. A socket is written as
    /// `unix:/run/docker.sock`, or with a URL path as `http+unix://%2Frun%2Fdocker.sock/v1.40`.
    ///
    /// Only a base URL may name a socket. The target of a call or a redirect cannot.
    ///
    /// - Throws: `invalid_url` with the reason.
    public init(base text: String) throws(NightjarError) {
        if let rest = RequestURL.behind("http+unix://", text) {
            let name = rest.utf8.prefix { !"/?#".utf8.contains($0) }
            let path = String(validating: PercentEncoding.decoded(name), as: UTF8.self)
            guard let path, name.count > 0 else {
                throw NightjarError(
                    .invalidURL,
                    "the socket path in the URL is empty or not UTF-8; write %2F for each slash, as in "
                        + "http+unix://%2Frun%2Fdocker.sock/path")
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
