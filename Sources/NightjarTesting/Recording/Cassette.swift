import NIOCore

/// Recorded exchanges, as a file has them. Version 1 of the format:
///
///     {
///       "format": "nightjar-cassette", "version": 1,
///       "exchanges": [
///         {
///           "request": {"method": "GET", "url": "http://...", "headers": {...}, "json"|"text"|"base64": ...},
///           "response": {"status": 200, "headers": {...}, "json"|"text"|"base64": ..., "delay": 0.012,
///                        "pieces": [[0.001, 512], ...]},
///           "failure": {"kind": "connection_lost", "message": "...", "phase": "receive", "may_have_been_processed": true}
///         }
///       ]
///     }
///
/// Delays are seconds. A header that comes more than once has a list of values. `pieces` are those in which the body came:
/// seconds since what came before, and bytes. What an exchange does not need is left out.
public struct Cassette: Sendable, Equatable {
    public var exchanges: [RecordedExchange] = []

    public init(_ exchanges: [RecordedExchange] = []) { self.exchanges = exchanges }

    /// Bytes of a file that is read: more than any test can want, and less than harms a host.
    public static let largestFile = 256 << 20
    public static let mostExchanges = 100_000
    /// Bytes of a body that is kept.
    public static let largestBody = 16 << 20

    static let format = "nightjar-cassette"
    static let version: Int64 = 1
}
