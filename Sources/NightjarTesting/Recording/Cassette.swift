import NIOCore
import NightjarHTTP

/// A file of recorded exchanges. Version 1 of the format:
///
///     {
///       "format": "nightjar-cassette", "version": 1,
///       "exchanges": [
///         {
///           "request": {"method": "GET", "url": "http://...", "headers": {...}, BODY},
///           "response": {"status": 200, "reason": "OK", "headers": {...}, BODY, "trailers": {...}, "delay": 0.012,
///                        "pieces": [[0.001, 512], ...], "cut": true,
///                        "messages": [{"from": "client", BODY}, {"from": "server", "close": 1000}]},
///           "failure": {"kind": "connection_lost", "message": "...", "phase": "receive",
///                       "may_have_been_processed": true, "delay": 0.5}
///         }
///       ]
///     }
///
/// `BODY` is a member `json`, `text` or `base64` with the body, or `omitted` for a body that was too large. An empty body
/// has no member. Members that an exchange does not need are omitted. A repeated header has a list of values.
///
/// Delays are in seconds. `pieces` are the parts in which the body arrived: seconds since the previous event, and
/// bytes. `cut` is true if the client stopped reading before the end of the body. `messages` are those of a WebSocket:
/// `base64` is a binary message, and a `close` of 0 is a Close frame without a code.
package struct Cassette: Sendable, Equatable {
    package var exchanges: [RecordedExchange] = []

    package init(_ exchanges: [RecordedExchange] = []) { self.exchanges = exchanges }

    /// The largest file that is read, in bytes.
    package static let largestFile = 256 << 20
    package static let maximumExchanges = 100_000
    /// The largest body that is stored, in bytes.
    package static let largestBody = 16 << 20

    static let format = "nightjar-cassette"
    static let version: Int64 = 1
}
