import NIOCore

/// Writes field lines. RFC 9112 section 5.
enum HeadWriter {
    @inline(__always)
    static func writeField(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, into buffer: inout ByteBuffer
    ) {
        buffer.writeBytes(name)
        buffer.writeStaticString(": ")
        buffer.writeBytes(value)
        buffer.writeStaticString("\r\n")
    }

    /// Writes the field that frames the body, if the request needs one (RFC 9112 section 6). If `expectsContinue` is
    /// true, also writes the Expect field after this field (RFC 9110 section 10.1.1).
    static func writeFraming(
        _ framing: BodyFraming, method: Method, expectsContinue: Bool, into buffer: inout ByteBuffer
    ) throws(NightjarError) {
        let length: Int
        switch framing {
        case .absent:
            // POST, PUT and PATCH requests without a body send Content-Length: 0. RFC 9110 section 8.6.
            guard method == .post || method == .put || method == .patch else { return }
            length = 0
        case .chunked:
            buffer.writeStaticString("Transfer-Encoding: chunked\r\n")
            if expectsContinue { buffer.writeStaticString("Expect: 100-continue\r\n") }
            return
        case .upgrade:
            // The connection adds Sec-WebSocket-Key, because each connection needs another one.
            buffer.writeStaticString("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n")
            return
        case .length(let count):
            guard count >= 0 else {
                throw NightjarError(
                    .invalidRequest, "the length of the request body must not be negative, got \(count)")
            }
            length = count
        }
        buffer.writeStaticString("Content-Length: ")
        writeDecimal(length, into: &buffer)
        buffer.writeStaticString("\r\n")
        if expectsContinue { buffer.writeStaticString("Expect: 100-continue\r\n") }
    }

    private static func writeDecimal(_ number: Int, into buffer: inout ByteBuffer) {
        if number < 10 {
            buffer.writeInteger(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number))
        } else {
            // A String of up to 15 digits needs no allocation.
            buffer.writeString(String(number))
        }
    }
}
