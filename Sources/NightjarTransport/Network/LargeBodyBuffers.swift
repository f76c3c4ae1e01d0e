import NIOCore
import NightjarBase

/// The buffers for the large bodies of a transport's connections. A buffer is used again when its slices are released.
final class LargeBodyBuffers {
    private var buffers: [ByteBuffer] = []
    /// The number of connections that receive a large body. Without any, the memory is released.
    var users = 0 {
        didSet { if users == 0 { buffers = [] } }
    }

    /// Fills a buffer whose slices are all released.
    ///
    /// - Parameter body: Returns the range of the memory that it has written, or nil.
    /// - Returns: The written bytes. Nil if there is no free buffer, or if none can be allocated.
    func fill(_ body: (UnsafeMutableRawBufferPointer) -> Range<Int>?) -> ByteBuffer? {
        guard let index = freeBuffer() else { return nil }
        guard let range = buffers[index].withUnsafeMutableWritableBytes(body) else { return nil }
        buffers[index].moveWriterIndex(to: range.upperBound)
        buffers[index].moveReaderIndex(to: range.lowerBound)
        return buffers[index]
    }

    private func freeBuffer() -> Int? {
        for index in buffers.indices {
            if buffers[index].modifyIfUniquelyOwned({ $0.clear() }) != nil { return index }
        }
        guard buffers.count < LargeBodyBuffers.largestCount else { return nil }
        var buffer = ByteBuffer()
        let capacity = LargeBodyReader.size + LargeBodyReader.block
        guard (try? buffer.reserve(capacity, for: "a body")) != nil else { return nil }
        buffers.append(buffer)
        return buffers.count - 1
    }

    /// More than a download needs while it writes and receives: its window is 1 MiB.
    private static let largestCount = 10
}
