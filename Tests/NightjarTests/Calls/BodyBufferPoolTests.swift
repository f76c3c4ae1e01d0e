import NIOCore
import Testing

@testable import Nightjar

/// Buffers of consumed bodies are reused, and shared buffers are not touched.
@Suite struct BodyBufferPoolTests {
    private func body(_ count: Int, of byte: UInt8 = 1) -> ByteBuffer { ByteBuffer(repeating: byte, count: count) }

    private func address(of buffer: ByteBuffer) -> UnsafeRawPointer? {
        buffer.withVeryUnsafeBytes { $0.baseAddress }
    }

    @Test func readBufferIsReused() {
        var spare = BodyBufferPool()
        var first = Optional(body(1000))
        let place = first.flatMap(address)
        if let first { spare.keep(first) }
        first = nil
        let next = spare.take(900)
        #expect(address(of: next) == place)
        #expect(next.readableBytes == 0 && next.writerIndex == 0 && next.writableBytes >= 900)
        // There is no second buffer.
        #expect(address(of: spare.take(900)) != place)
    }

    @Test func sharedBufferIsNotReused() {
        var spare = BodyBufferPool()
        let held = body(1000, of: 7)
        spare.keep(held)
        var next = spare.take(1000)
        next.writeRepeatingByte(9, count: 1000)
        #expect(address(of: next) != address(of: held))
        #expect(held == body(1000, of: 7))
    }

    @Test func shortBodyDoesNotRetainALargeBuffer() {
        var spare = BodyBufferPool()
        spare.keep(body(40_000))
        let short = spare.take(100)
        #expect(short.storageCapacity < 1000)
        spare.keep(body(100))
        #expect(spare.take(5000).writableBytes >= 5000)
        #expect(spare.take(0).readableBytes == 0)
    }

    /// 128 KiB in total, and no buffer above 64 KiB.
    @Test func poolIsBounded() {
        var spare = BodyBufferPool()
        spare.keep(ByteBuffer())
        spare.keep(body(70_000))
        #expect(spare.bytes == 0)
        for _ in 0..<100 { spare.keep(body(4000)) }
        #expect(spare.bytes <= 128 * 1024 && spare.bytes > 120 * 1024)
        for _ in 0..<100 { #expect(spare.take(4000).writableBytes >= 4000) }
        #expect(spare.bytes == 0)
        #expect(spare.take(1 << 20).storageCapacity == 0)
    }
}
