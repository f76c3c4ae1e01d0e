import NIOCore
import NightjarCrypto
import NightjarHTTP

/// The bytes of a stream that is uploaded. Holds the bytes that may have to be sent again. Used on the client's loop.
///
///     read(from:until:) ──▶ requests parts ──▶ delivered: the range and one more byte, or the end
final class UploadStream {
    /// Requests the next part of at most this number of bytes.
    private let request: (Int) -> Void
    private var buffer = ByteBuffer()
    /// The position of the first byte in the buffer.
    private var start = 0
    private var hasEnded = false
    private var until = 0
    private var deliver: ((_ end: Int, _ isAtEnd: Bool) -> Void)?
    private let hash: RunningHash?

    init(hashing function: HashFunction?, request: @escaping (Int) -> Void) {
        self.request = request
        hash = function.flatMap { RunningHash($0) }
    }

    private var end: Int { start + buffer.readableBytes }
    /// The digest of the bytes so far.
    var digest: [UInt8]? { hash?.finish() }

    /// Reads up to a position. Discards the bytes before `from`.
    ///
    /// - Parameter deliver: Called with the position that was reached, and whether the stream has no bytes after it.
    func read(from: Int, until: Int, then deliver: @escaping (_ end: Int, _ isAtEnd: Bool) -> Void) {
        if from > start {
            buffer.moveReaderIndex(forwardBy: min(from - start, buffer.readableBytes))
            buffer.discardReadBytes()
            start = from
        }
        (self.until, self.deliver) = (until, deliver)
        proceed()
    }

    private func proceed() {
        guard let deliver else { return }
        // One more byte shows whether the stream ends here.
        guard hasEnded || end > until else { return request(min(until + 1 - end, UploadStream.largestRequest)) }
        self.deliver = nil
        deliver(min(end, until), hasEnded && end <= until)
    }

    func received(_ bytes: ByteBuffer) {
        bytes.withUnsafeReadableBytes { hash?.update($0) }
        buffer.writeImmutableBuffer(bytes)
        proceed()
    }

    func ended() {
        hasEnded = true
        proceed()
    }

    /// Returns the bytes of a range that was read.
    func bytes(_ range: Range<Int>) -> ByteBuffer? {
        buffer.getSlice(at: buffer.readerIndex + range.lowerBound - start, length: range.count)
    }

    private static let largestRequest = 64 << 10
}
