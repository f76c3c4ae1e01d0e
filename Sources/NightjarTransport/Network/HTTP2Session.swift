import CHTTP2
import NIOCore
import NightjarHTTP

/// The session of libnghttp2 for one connection. Calls the connection and its streams back from ``receive(_:)`` and
/// ``write(into:)``.
final class HTTP2Session {
    private let session: OpaquePointer
    /// The number of the last stream.
    private(set) var lastStream: Int32 = 0

    /// Returns nil if the library is not available or memory is exhausted.
    init?(for connection: HTTP2Connection, streamWindow: Int, connectionWindow: Int, maximumFields: Int) {
        var options = ch2_options(
            stream_window: UInt32(clamping: streamWindow), connection_window: UInt32(clamping: connectionWindow),
            maximum_fields: UInt32(clamping: maximumFields))
        let context = Unmanaged.passUnretained(connection).toOpaque()
        guard let session = ch2_new(HTTP2Session.handler, context, &options) else { return nil }
        self.session = session
    }

    deinit { ch2_free(session) }

    /// Why HTTP/2 is not available. Nil: it is available. The library is searched each time, because it may be missing only
    /// for lack of descriptors or memory.
    static var unavailability: String? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { reason in
            guard let base = reason.baseAddress, !ch2_load(base, reason.count) else { return nil }
            return String(cString: base)
        }
    }

    // MARK: Input and output

    /// Processes received bytes. Returns the reason why the connection must be closed, or nil.
    func receive(_ bytes: UnsafeRawBufferPointer) -> NightjarError? {
        let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        if ch2_receive(session, base, bytes.count) { return nil }
        return violation ?? NightjarError(.protocol, "the server violated HTTP/2", phase: .receive)
    }

    /// Stores pending frames. Returns their size in bytes, or a negative number if the session has failed.
    func write(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let base = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return ch2_write(session, base, buffer.count)
    }

    var wantsWrite: Bool { ch2_wants_write(session) }
    var hasEnded: Bool { ch2_has_ended(session) }

    /// The violation of the protocol by the server, if any.
    var violation: NightjarError? {
        ch2_violation(session).map {
            NightjarError(.protocol, "the server violated HTTP/2: \(String(cString: $0))", phase: .receive)
        }
    }

    // MARK: Streams

    /// Starts a request. Returns the number of its stream, or a negative number.
    func submit(_ fields: [ch2_field], hasBody: Bool, _ stream: HTTP2Stream) -> Int32 {
        let number = fields.withUnsafeBufferPointer {
            ch2_submit(
                session, $0.baseAddress, $0.count, hasBody, Unmanaged.passUnretained(stream).toOpaque())
        }
        if number > 0 { lastStream = number }
        return number
    }

    static func field(_ name: StaticString, _ value: StaticString) -> ch2_field {
        field(name, UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
    }

    static func field(_ name: StaticString, _ value: UnsafeRawBufferPointer) -> ch2_field {
        field(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value)
    }

    static func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> ch2_field {
        ch2_field(
            name: name.baseAddress?.assumingMemoryBound(to: UInt8.self), name_length: name.count,
            value: value.baseAddress?.assumingMemoryBound(to: UInt8.self), value_length: value.count)
    }

    func resumeBody(_ stream: Int32) { ch2_resume_body(session, stream) }
    func reset(_ stream: Int32, _ error: HTTP2ErrorCode) { ch2_reset(session, stream, error.rawValue) }
    /// Ensures that the stream is not called any more.
    func forget(_ stream: Int32) { ch2_forget(session, stream) }
    func consume(_ stream: Int32, _ count: Int) { ch2_consume(session, stream, count) }
    func setWindow(_ stream: Int32, _ size: Int) { ch2_set_window(session, stream, Int32(clamping: size)) }

    // MARK: The connection

    func ping() { ch2_ping(session) }
    func end(_ error: HTTP2ErrorCode) { ch2_end(session, error.rawValue) }
    var maximumStreams: Int { Int(clamping: ch2_maximum_streams(session)) }
    var allowsExtendedConnect: Bool { ch2_allows_extended_connect(session) }

    // MARK: Callbacks

    /// The functions for all sessions. Never freed.
    nonisolated(unsafe) private static let handler: UnsafePointer<ch2_handler> = {
        let handler = UnsafeMutablePointer<ch2_handler>.allocate(capacity: 1)
        handler.initialize(
            to: ch2_handler(
                frame: { connection($0)?.received($1, flags: $2, length: $3) ?? false },
                section: { stream($1)?.received($2, endsStream: $3) },
                data: { stream($1)?.received($2, $3) },
                ended: { stream($1)?.ended() },
                closed: { stream($1)?.closed(HTTP2ErrorCode(rawValue: $2)) },
                body: { stream($1)?.readBody($2, $3, $4) ?? Int(CH2_BODY_FAILED) },
                settings: { connection($0)?.settingsReceived() },
                goaway: { connection($0)?.goAwayReceived(lastStream: $1, HTTP2ErrorCode(rawValue: $2)) },
                pong: { connection($0)?.pongReceived() }))
        return UnsafePointer(handler)
    }()

    static func section(_ section: ch2_section) -> HTTP2FieldSection {
        HTTP2FieldSection(
            text: UnsafeRawBufferPointer(start: section.text, count: section.length),
            ranges: UnsafeRawBufferPointer(
                start: section.fields, count: section.count * MemoryLayout<ch2_range>.stride))
    }

    private static func stream(_ pointer: UnsafeMutableRawPointer?) -> HTTP2Stream? {
        pointer.map { Unmanaged<HTTP2Stream>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func connection(_ pointer: UnsafeMutableRawPointer?) -> HTTP2Connection? {
        pointer.map { Unmanaged<HTTP2Connection>.fromOpaque($0).takeUnretainedValue() }
    }
}
