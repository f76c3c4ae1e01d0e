import NIOCore
import NIOHPACK

/// Reads the frames of a client after its connection preface, and decodes field blocks.
public struct HTTP2FrameReader: Sendable {
    public enum Event: Sendable {
        /// A complete field block: a request head, or trailers.
        case fields(stream: Int, [Field], ends: Bool, frames: Int)
        /// A frame of another kind. The payload of DATA has no padding.
        case frame(HTTP2Frame)
    }

    public struct Field: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    /// The first bytes of a client. RFC 9113 section 3.4.
    public static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private struct Block {
        let stream: Int
        let ends: Bool
        var bytes: [UInt8]
        var frames = 1
    }

    private var pending: [UInt8] = []
    private var start = 0
    private var decoder = HPACKDecoder(
        allocator: ByteBufferAllocator(), maxDynamicTableSize: 4096, maxHeaderListSize: 1 << 20)
    private var block: Block?

    public init() {}

    public mutating func append(_ bytes: some Collection<UInt8>) {
        pending.removeFirst(start)
        start = 0
        pending += bytes
    }

    /// Returns the next event; nil if more bytes are needed.
    public mutating func next() throws -> Event? {
        while let frame = nextFrame() {
            switch frame.kind {
            case .headers:
                let content = try HTTP2FrameReader.content(of: frame)
                block = Block(stream: frame.stream, ends: frame.flags.contains(.endStream), bytes: content)
            case .continuation:
                guard block?.stream == frame.stream else { throw HTTP2Violation("CONTINUATION without HEADERS") }
                block?.bytes += frame.payload
                block?.frames += 1
            case .data:
                let content = try HTTP2FrameReader.content(of: frame)
                return .frame(HTTP2Frame(.data, frame.flags, stream: frame.stream, content))
            default: return .frame(frame)
            }
            if frame.flags.contains(.endHeaders), let whole = block.take() { return try decoded(whole) }
        }
        return nil
    }

    private mutating func decoded(_ block: Block) throws -> Event {
        var buffer = ByteBuffer(bytes: block.bytes)
        let fields = try decoder.decodeHeaders(from: &buffer).map { Field(name: $0.name, value: $0.value) }
        return .fields(stream: block.stream, fields, ends: block.ends, frames: block.frames)
    }

    private mutating func nextFrame() -> HTTP2Frame? {
        guard pending.count - start >= 9 else { return nil }
        let head = pending[start..<start + 9]
        let length = head.prefix(3).reduce(0) { $0 << 8 | Int($1) }
        guard pending.count - start >= 9 + length else { return nil }
        let stream = head.suffix(4).reduce(0) { $0 << 8 | Int($1) } & 0x7FFF_FFFF
        let payload = Array(pending[start + 9..<start + 9 + length])
        defer { start += 9 + length }
        return HTTP2Frame(
            HTTP2Frame.Kind(rawValue: head[start + 3]), HTTP2Frame.Flags(rawValue: head[start + 4]), stream: stream,
            payload)
    }

    /// Returns the content of DATA or HEADERS without padding and without priority.
    private static func content(of frame: HTTP2Frame) throws -> [UInt8] {
        var content = frame.payload[...]
        if frame.flags.contains(.padded) {
            let padding = Int(content.popFirst() ?? 0)
            guard padding <= content.count else { throw HTTP2Violation("too much padding") }
            content = content.dropLast(padding)
        }
        if frame.kind == .headers, frame.flags.contains(.priority) { content = content.dropFirst(5) }
        return Array(content)
    }
}

/// The client has violated HTTP/2.
public struct HTTP2Violation: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = "the client violated HTTP/2: \(description)" }
}
