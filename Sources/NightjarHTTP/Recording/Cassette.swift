import NIOCore

/// A file of recorded exchanges. Version 1 of the format:
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
/// Delays are in seconds. A repeated header has a list of values. `pieces` are the parts in which the body arrived:
/// seconds since the previous event, and bytes. Members that an exchange does not need are omitted.
public struct Cassette: Sendable, Equatable {
    public var exchanges: [RecordedExchange] = []

    public init(_ exchanges: [RecordedExchange] = []) { self.exchanges = exchanges }

    /// The largest file that is read, in bytes.
    public static let largestFile = 256 << 20
    public static let mostExchanges = 100_000
    /// The largest body that is stored, in bytes.
    public static let largestBody = 16 << 20

    static let format = "nightjar-cassette"
    static let version: Int64 = 1
}
