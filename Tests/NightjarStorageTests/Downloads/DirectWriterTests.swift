import CPlatform
import Glibc
import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// Whether the file system of the tests has direct writes.
private let hasDirectWrites: Bool = {
    guard let folder = try? TemporaryDirectory() else { return false }
    let descriptor = open(folder.file("a"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    return DirectWriter(descriptor) != nil
}()

/// Disabled on a file system without direct writes, such as tmpfs of older kernels.
@Suite(.enabled(if: hasDirectWrites)) struct DirectWriterTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Writes runs of random lengths and buffers at random places, and compares the file with a copy in memory.
    @Test(arguments: [1, 2, 3, 4]) func runsArriveWhole(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let descriptor = open(folder.file("a"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let writer = try #require(DirectWriter(descriptor, minimum: 1))
        var expected: [UInt8] = []
        for _ in 0..<60 {
            let offset = Int.random(in: 0...expected.count, using: &random)
            var buffers: [ByteBuffer] = []
            var run: [UInt8] = []
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let length = [0, 1, 4095, 4096, 4097, 65_536, 300_000].randomElement(using: &random) ?? 0
                let bytes = random.bytes(length)
                let isAligned = Bool.random(using: &random)
                buffers.append(isAligned ? aligned(bytes, at: offset + run.count) : ByteBuffer(bytes: bytes))
                run += bytes
            }
            #expect(writer.write(buffers, at: offset) == 0)
            expected.replaceSubrange(offset..<min(offset + run.count, expected.count), with: run)
        }
        #expect(try folder.read("a") == expected)
        #expect(writer.accepts(1))
    }

    /// A position in the file and the bytes of a buffer need not be whole blocks. Every combination near the limits of
    /// blocks and of the buffer is written.
    @Test func limitsOfBlocksAreRight() throws {
        let descriptor = open(folder.file("a"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let writer = try #require(DirectWriter(descriptor, minimum: 1))
        let whole = 512 << 10
        for offset in [0, 1, 4095, 4096, 4097] {
            for end in [1, 4095, 4096, 4097, whole - 1, whole, whole + 1, whole + 4096, 2 * whole + 1]
            where end > offset {
                ftruncate(descriptor, 0)
                let bytes = (offset..<end).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
                #expect(writer.write([ByteBuffer(bytes: bytes)], at: offset) == 0)
                #expect(try folder.read("a") == [UInt8](repeating: 0, count: offset) + bytes, "\(offset)..<\(end)")
            }
        }
    }

    /// Bytes whose addresses agree with their positions are not copied, and a write has many of them.
    @Test(arguments: [0, 1, 4095, 4096]) func alignedBuffersArriveWhole(offset: Int) throws {
        let descriptor = open(folder.file("a"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let writer = try #require(DirectWriter(descriptor, minimum: 1))
        var random = SeededRandom(seed: UInt64(offset))
        for length in [1, 4095, 4096, 4097, 12_288, 30_000] {
            var expected: [UInt8] = []
            var buffers: [ByteBuffer] = []
            for _ in 0..<100 {
                let bytes = random.bytes(length)
                buffers.append(aligned(bytes, at: offset + expected.count))
                expected += bytes
            }
            ftruncate(descriptor, 0)
            #expect(writer.write(buffers, at: offset) == 0)
            #expect(try folder.read("a") == [UInt8](repeating: 0, count: offset) + expected, "\(length) at \(offset)")
        }
    }

    /// Returns a buffer whose addresses are equal to the positions in the file modulo the size of a block.
    private func aligned(_ bytes: [UInt8], at position: Int) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: bytes.count + DirectWriter.block)
        let address = buffer.withUnsafeMutableWritableBytes { Int(bitPattern: $0.baseAddress) }
        let padding = (position - address) & (DirectWriter.block - 1)
        buffer.writeRepeatingByte(0, count: padding)
        buffer.writeBytes(bytes)
        buffer.moveReaderIndex(forwardBy: padding)
        return buffer
    }

    @Test func errorsAreReturned() throws {
        let descriptor = open(folder.file("a"), O_RDONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let writer = try #require(DirectWriter(descriptor, minimum: 1))
        #expect(writer.write([ByteBuffer(repeating: 1, count: 8192)], at: 0) == EBADF)
        #expect(writer.write([ByteBuffer(repeating: 1, count: 100)], at: 0) == EBADF)
    }

    @Test func shortRunsUseThePageCache() throws {
        let descriptor = open(folder.file("a"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let writer = try #require(DirectWriter(descriptor))
        #expect(!writer.accepts(4096) && writer.accepts(1 << 20))
        // The descriptor itself remains as it was.
        #expect(pwrite(descriptor, "x", 1, 1) == 1)
    }

    @Test func closedDescriptorIsRejected() { #expect(DirectWriter(-1) == nil) }

    @Test(.enabled(if: access("/dev/shm", W_OK) == 0)) func memoryHasNoDisk() throws {
        let path = "/dev/shm/nightjar-disk-\(getpid())"
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer {
            close(descriptor)
            unlink(path)
        }
        #expect(Disk(of: descriptor) == nil)
        #expect(Disk(of: -1) == nil)
    }
}
