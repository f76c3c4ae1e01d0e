import NIOCore
import Testing

@testable import NightjarTransport

@Suite struct LargeBodyBuffersTests {
    /// Fills a buffer with a byte. Returns the address of the byte, and the buffer.
    private func fill(_ buffers: LargeBodyBuffers, _ byte: UInt8) -> (address: Int, buffer: ByteBuffer)? {
        var address = 0
        let buffer = buffers.fill { memory in
            memory[1] = byte
            address = Int(bitPattern: memory.baseAddress) + 1
            return 1..<2
        }
        return buffer.map { (address, $0) }
    }

    @Test func buffersInUseAreNotFilled() throws {
        let buffers = LargeBodyBuffers()
        buffers.users = 1
        var kept: [(address: Int, buffer: ByteBuffer)] = []
        while let next = fill(buffers, UInt8(kept.count)) {
            kept.append(next)
            try #require(kept.count < 100)
        }
        #expect(kept.count > 1)
        for (index, next) in kept.enumerated() { #expect(Array(next.buffer.readableBytesView) == [UInt8(index)]) }
        // A slice keeps its buffer in use.
        let released = kept.removeLast()
        let slice = released.buffer.getSlice(at: released.buffer.readerIndex, length: 1)
        withExtendedLifetime((released, slice)) { #expect(fill(buffers, 7) == nil) }
    }

    @Test func releasedBuffersAreFilledAgain() throws {
        let buffers = LargeBodyBuffers()
        buffers.users = 1
        let first = try #require(fill(buffers, 1)?.address)
        #expect(fill(buffers, 2)?.address == first)
        // A fill without bytes leaves the buffer free.
        #expect(buffers.fill { _ in nil } == nil)
        #expect(fill(buffers, 3)?.address == first)
    }

    @Test func slicesRemainAfterTheLastUser() throws {
        let buffers = LargeBodyBuffers()
        buffers.users = 2
        let kept = try #require(fill(buffers, 1)).buffer
        buffers.users -= 1
        buffers.users -= 1
        let next = try #require(fill(buffers, 2)).buffer
        #expect(Array(kept.readableBytesView) == [1] && Array(next.readableBytesView) == [2])
    }
}
