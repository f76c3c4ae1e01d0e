/// The reason why a stream or a connection of HTTP/2 was ended. RFC 9113 section 7.
package struct HTTP2ErrorCode: RawRepresentable, Equatable, Sendable, CustomStringConvertible {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let noError = HTTP2ErrorCode(rawValue: 0)
    package static let protocolError = HTTP2ErrorCode(rawValue: 1)
    package static let internalError = HTTP2ErrorCode(rawValue: 2)
    /// The server has not processed the request.
    package static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    package static let cancel = HTTP2ErrorCode(rawValue: 8)
    package static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)
    /// The server requires HTTP/1.1 for the request.
    package static let http11Required = HTTP2ErrorCode(rawValue: 13)

    private static let names = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    /// The name of the code, or its number if it has none.
    package var description: String {
        let names = HTTP2ErrorCode.names
        return rawValue < UInt32(names.count) ? names[Int(rawValue)] : "0x" + String(rawValue, radix: 16)
    }
}
