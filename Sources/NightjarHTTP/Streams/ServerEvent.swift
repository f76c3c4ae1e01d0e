import NIOCore

/// One event of an event stream (WHATWG HTML, section 9.2).
public struct ServerEvent: Sendable, Equatable {
    /// The bytes of ``data``, which are valid UTF-8.
    public let bytes: ByteBuffer
    private let typeBytes: ByteBuffer
    private let idBytes: ByteBuffer

    /// Whether the server has sent the id with this event, and not with an earlier one.
    package let hasOwnID: Bool

    package init(data: ByteBuffer, type: ByteBuffer, id: ByteBuffer, hasOwnID: Bool) {
        bytes = data
        typeBytes = type
        idBytes = id
        self.hasOwnID = hasOwnID
    }

    /// The data. Lines are separated by LF.
    public var data: String { String(buffer: bytes) }
    /// The type: `message` unless the server has sent another one.
    public var type: String { typeBytes.readableBytes == 0 ? "message" : String(buffer: typeBytes) }
    /// The last event id that the server has sent, with this event or an earlier one. Empty if there is none. A stream
    /// that begins with this id continues after this event.
    public var id: String { String(buffer: idBytes) }

    /// The data parsed as JSON.
    ///
    /// - Throws: `decoding` if the data is not JSON.
    public var json: JSONValue {
        get throws(NightjarError) { try JSONValue(parsing: bytes, of: "the data of the event") }
    }

    /// The type and the id as bytes, for other languages.
    package var rawType: ByteBuffer { typeBytes }
    package var rawID: ByteBuffer { idBytes }
}
