import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarBase

@Suite struct CheckedMemoryTests {
    /// A size that exceeds the address space of any process.
    private static let tooMuch = 1 << 60

    @Test func contentIsAppendedCompletely() throws {
        var buffer = ByteBuffer(string: "0")
        var expected: [UInt8] = Array("0".utf8)
        for size in [1, 100, 65_536, 200_000, 1, 3_000_000] {
            let part = [UInt8](repeating: UInt8(truncatingIfNeeded: size), count: size)
            try buffer.append(ByteBuffer(bytes: part), for: "a test")
            expected += part
        }
        #expect(buffer.readableBytesView.elementsEqual(expected))
    }

    @Test func fullBufferHasRoomForATerminator() throws {
        var buffer = ByteBuffer()
        try buffer.reserve(100_000, for: "a test")
        buffer.writeRepeatingByte(1, count: 100_000)
        let capacity = buffer.capacity
        buffer.writeInteger(UInt8(0))
        #expect(buffer.capacity == capacity)
    }

    @Test func growthAfterReadingKeepsTheUnreadBytes() throws {
        var buffer = ByteBuffer(bytes: [UInt8](repeating: 7, count: 100_000))
        buffer.moveReaderIndex(forwardBy: 99_999)
        try buffer.reserve(500_000, for: "a test")
        #expect(Array(buffer.readableBytesView) == [7])
    }

    @Test func copiesAreIndependent() throws {
        var buffer = ByteBuffer()
        try buffer.reserve(100_000, for: "a test")
        buffer.writeString("a")
        let copy = buffer
        buffer.writeString("b")
        #expect(String(buffer: copy) == "a" && String(buffer: buffer) == "ab")
    }

    @Test func allocationBeyondMemoryIsAnError() throws {
        var buffer = ByteBuffer(string: "kept")
        // A sanitizer reports an allocation of this size as a bug.
        let sizes = isSanitized ? [Int(UInt32.max)] : [Int(UInt32.max), CheckedMemoryTests.tooMuch]
        for size in sizes {
            do throws(NightjarError) {
                try buffer.reserve(size, for: "the response's body")
                Issue.record("no error")
            } catch {
                #expect(error.kind == .noMemory && !error.isRetryable)
                #expect(error.message.contains("for the response's body"))
            }
        }
        #expect(String(buffer: buffer) == "kept")
        #expect(isSanitized || !CheckedMemory.isAvailable(CheckedMemoryTests.tooMuch))
        #expect(CheckedMemory.isAvailable(1 << 20))
    }
}
