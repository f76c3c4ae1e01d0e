/// A version of HTTP. The raw value is ten times the version number: 10, 11 or 20.
public enum HTTPVersion: Int, Sendable, Comparable, CustomStringConvertible {
    case http1_0 = 10
    case http1_1 = 11
    case http2 = 20

    /// The version as in a status line: `HTTP/1.1`, `HTTP/2`.
    public var description: String {
        switch self {
        case .http1_0: "HTTP/1.0"
        case .http1_1: "HTTP/1.1"
        case .http2: "HTTP/2"
        }
    }

    public static func < (a: HTTPVersion, b: HTTPVersion) -> Bool { a.rawValue < b.rawValue }
}
