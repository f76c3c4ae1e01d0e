import NIOCore

/// Changes the frames that NIOHTTP2 writes: omits frames for intentional faults, and sends the response heads that are
/// too large for one frame, for which NIOHTTP2 has no CONTINUATION frames.
final class HTTP2FrameFilter: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private enum FrameType {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }

    private enum Flag {
        static let acknowledged: UInt8 = 1
        static let endStream: UInt8 = 1
        static let endHeaders: UInt8 = 4
    }

    private static let headSize = 9
    /// The largest payload that each client accepts (RFC 9113 section 4.2).
    private static let maximumPayload = 16_384

    var omittedFrames: HTTP2OmittedFrames
    /// True if a GOAWAY frame with an error has been sent.
    private(set) var hasSentConnectionError = false
    /// The field blocks that replace the next HEADERS frames, by stream.
    private var heads: [UInt32: ByteBuffer] = [:]
    /// True if the next write is the payload of a DATA frame.
    private var isPayloadNext = false

    init(omitting frames: HTTP2OmittedFrames) { omittedFrames = frames }

    func replaceHead(of stream: Int, with block: ByteBuffer) {
        heads[UInt32(truncatingIfNeeded: stream)] = block
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isPayloadNext, case .byteBuffer(let frame) = unwrapOutboundIn(data),
            let type = frame.getInteger(at: frame.readerIndex + 3, as: UInt8.self)
        else {
            isPayloadNext = false
            context.write(data, promise: promise)
            return
        }
        switch type {
        case FrameType.data:
            // NIOHTTP2 writes the payload separately. An empty payload is also written.
            isPayloadNext = frame.readableBytes == HTTP2FrameFilter.headSize
        case FrameType.headers where !heads.isEmpty:
            if let head = replacement(of: frame) {
                context.write(wrapOutboundOut(.byteBuffer(head)), promise: promise)
                return
            }
        case FrameType.windowUpdate where omittedFrames.contains(.windowUpdates),
            FrameType.ping where omittedFrames.contains(.pingAcknowledgements) && flags(frame) & Flag.acknowledged > 0:
            promise?.succeed()
            return
        case FrameType.goAway:
            let code = frame.getInteger(at: frame.readerIndex + HTTP2FrameFilter.headSize + 4, as: UInt32.self)
            if code != 0 { hasSentConnectionError = true }
        default:
            break
        }
        context.write(data, promise: promise)
    }

    private func flags(_ frame: ByteBuffer) -> UInt8 {
        frame.getInteger(at: frame.readerIndex + 4) ?? 0
    }

    /// Returns a HEADERS frame and CONTINUATION frames with the field block of the stream, if there is one.
    private func replacement(of frame: ByteBuffer) -> ByteBuffer? {
        guard let stream = frame.getInteger(at: frame.readerIndex + 5, as: UInt32.self),
            var block = heads.removeValue(forKey: stream)
        else { return nil }
        var output = ByteBuffer()
        var (type, flags) = (FrameType.headers, flags(frame) & Flag.endStream)
        repeat {
            let count = min(block.readableBytes, HTTP2FrameFilter.maximumPayload)
            if count == block.readableBytes { flags |= Flag.endHeaders }
            output.writeInteger(UInt8(count >> 16))
            output.writeInteger(UInt16(count & 0xFFFF))
            output.writeInteger(type)
            output.writeInteger(flags)
            output.writeInteger(stream)
            if let payload = block.readSlice(length: count) { output.writeImmutableBuffer(payload) }
            (type, flags) = (FrameType.continuation, 0)
        } while block.readableBytes > 0
        return output
    }
}
