import NIOCore

/// Decodes the body of an event stream by the rules of WHATWG HTML, section 9.2.6.
///
/// After each ``append(_:)``, the caller takes events with ``next()`` until it returns nil. An event that the body's end
/// interrupts is never returned.
///
/// The id of an event applies to later events without an id, also on later connections: browsers do the same, although
/// the standard clears the id of each new connection.
package struct EventDecoder: Sendable {
    /// The id of the last complete event, including events without data. Empty if there is none.
    package private(set) var lastEventID: ByteBuffer
    /// The last value of the field `retry`.
    package private(set) var reconnectionTime: Duration?
    private let maximumSize: Int
    /// The option that sets ``maximumSize``, for the message of the error.
    private let sizeOption: String
    private var lines: RecordDecoder
    private var isAtStart = true
    // The event in progress:
    private var data = ByteBuffer()
    private var hasData = false
    private var type = ByteBuffer()
    private var id: ByteBuffer
    private var hasOwnID = false

    /// - Parameters:
    ///   - maximumSize: The maximum length of a line and of an event's data, in bytes.
    ///   - sizeOption: The option that sets the maximum length, for the message of the error.
    ///   - lastEventID: The id of the last event of an earlier connection.
    package init(maximumSize: Int, sizeOption: String = "max_event", lastEventID: ByteBuffer = ByteBuffer()) {
        self.maximumSize = maximumSize
        self.sizeOption = sizeOption
        self.lastEventID = lastEventID
        id = lastEventID
        lines = RecordDecoder(.uncheckedLines, maximumLength: maximumSize)
    }

    /// Adds a part of the body. Call only after ``next()`` has returned nil.
    package mutating func append(_ part: ByteBuffer) { lines.append(part) }

    /// Returns the next event, or nil if more of the body is needed.
    ///
    /// - Throws: `too_large` for an event that is too long; `no_memory`.
    package mutating func next() throws(NightjarError) -> ServerEvent? {
        while var line = try nextLine() {
            if isAtStart {
                isAtStart = false
                if line.readableBytesView.starts(with: EventDecoder.byteOrderMark) {
                    line.moveReaderIndex(forwardBy: 3)
                }
            }
            guard line.readableBytes > 0 else {
                if let event = dispatch() { return event }
                continue
            }
            try read(line)
        }
        return nil
    }

    /// The memory for the incomplete event, in bytes.
    package var heldBytes: Int {
        lines.heldBytes + data.readableBytes + type.readableBytes + id.readableBytes
    }

    private mutating func nextLine() throws(NightjarError) -> ByteBuffer? {
        do throws(NightjarError) {
            return try lines.next()
        } catch {
            throw error.kind == .tooLarge ? tooLarge : error
        }
    }

    /// Reads a line that is not empty.
    private mutating func read(_ line: ByteBuffer) throws(NightjarError) {
        let colon = line.readableBytesView.firstIndex(of: UInt8(ascii: ":")) ?? line.writerIndex
        let name = line.readableBytesView[line.readerIndex..<colon]
        var value = line
        value.moveReaderIndex(to: min(colon + 1, line.writerIndex))
        if value.getInteger(at: value.readerIndex, as: UInt8.self) == UInt8(ascii: " ") {
            value.moveReaderIndex(forwardBy: 1)
        }
        switch name.count {
        case 4 where name.elementsEqual("data".utf8): try appendData(value)
        case 5 where name.elementsEqual("event".utf8): type = EventDecoder.text(value)
        case 2 where name.elementsEqual("id".utf8):
            // The standard ignores only an id with NUL. An id with another control character cannot be sent.
            if FieldSyntax.isValue(value.readableBytesView) { (id, hasOwnID) = (EventDecoder.text(value), true) }
        case 5 where name.elementsEqual("retry".utf8): readRetry(value)
        default: break  // An unknown field, or a comment: a line that begins with a colon.
        }
    }

    private mutating func appendData(_ value: ByteBuffer) throws(NightjarError) {
        let text = EventDecoder.text(value)
        guard hasData else {
            (data, hasData) = (text, true)
            return
        }
        guard data.readableBytes + 1 + text.readableBytes <= maximumSize else { throw tooLarge }
        try data.append(EventDecoder.lineFeed, for: "an event")
        try data.append(text, for: "an event")
    }

    /// Sets the reconnection time if the value has only ASCII digits.
    private mutating func readRetry(_ value: ByteBuffer) {
        let digits = value.readableBytesView
        guard !digits.isEmpty, digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return }
        reconnectionTime = .milliseconds(Int64(String(buffer: value)) ?? .max)
    }

    /// Ends the event in progress. Returns it if it has a `data` field.
    private mutating func dispatch() -> ServerEvent? {
        lastEventID = id
        defer {
            type = ByteBuffer()
            data = ByteBuffer()
            hasData = false
            hasOwnID = false
        }
        guard hasData else { return nil }
        return ServerEvent(data: data, type: type, id: id, hasOwnID: hasOwnID)
    }

    /// Replaces invalid UTF-8 by U+FFFD. Event streams are always UTF-8.
    private static func text(_ bytes: ByteBuffer) -> ByteBuffer {
        bytes.withUnsafeReadableBytes(UTF8Validator.isValid) ? bytes : ByteBuffer(string: String(buffer: bytes))
    }

    private var tooLarge: NightjarError {
        NightjarError(
            .tooLarge, "an event of the stream is longer than \(maximumSize) bytes; set a larger \(sizeOption)",
            phase: .receive)
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let lineFeed = ByteBuffer(string: "\n")
}
