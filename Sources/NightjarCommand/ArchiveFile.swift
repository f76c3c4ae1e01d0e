import Glibc
import NIOCore
import Nightjar
import NightjarStorage
import Synchronization

/// `nightjar --har`: the exchanges of a script as an HTTP archive.
///
/// Each entry is written together with the archive's end over the end before it, so that the file is an archive at any
/// moment, however the process ends.
final class ArchiveFile: Sendable {
    private struct State {
        var writer: HARWriter
        /// Where the end of the archive stands in the file.
        var position: off_t
        var isBroken = false
    }

    private let name: String
    private let descriptor: Int32
    private let state: Mutex<State>

    /// - Throws: `storage` when the file cannot be made.
    init(path: [UInt8], showsSecrets: Bool) throws(NightjarError) {
        name = String(decoding: path, as: UTF8.self)
        // Only the owner may read the archive: it shows requests and responses, masked or not.
        descriptor = try PrivateFile(name, "archive").open(
            path.map(CChar.init(bitPattern:)) + [0], O_WRONLY | O_CREAT | O_TRUNC)
        let writer = HARWriter(showsSecrets: showsSecrets)
        let beginning = writer.begin(version: Version.string)
        state = Mutex(State(writer: writer, position: off_t(beginning.readableBytes)))
        guard ArchiveFile.write(beginning, writer.end(), to: descriptor, at: 0) else {
            throw ArchiveFile.failure(name)
        }
    }

    deinit { close(descriptor) }

    @Sendable
    func add(_ event: CallEvent) {
        guard case .exchanged(let exchange) = event else { return }
        state.withLock { state in
            guard !state.isBroken else { return }
            let entry = state.writer.entry(HAREntry(exchange))
            if ArchiveFile.write(entry, state.writer.end(), to: descriptor, at: state.position) {
                state.position += off_t(entry.readableBytes)
            } else {
                Console.complain(ArchiveFile.failure(name).message + "; what follows is not in it")
                state.isBroken = true
                // What there was before needs no more room than it had.
                ftruncate(descriptor, state.position)
                _ = ArchiveFile.write(ByteBuffer(), state.writer.end(), to: descriptor, at: state.position)
            }
        }
    }

    private static func failure(_ name: String) -> NightjarError {
        let code = errno
        return NightjarError(
            .storage, "the archive \(name) cannot be written: \(String(cString: strerror(code)))", code: code)
    }

    /// In one write where the system takes it so.
    private static func write(_ text: ByteBuffer, _ end: ByteBuffer, to descriptor: Int32, at position: off_t) -> Bool {
        var bytes = text
        bytes.writeImmutableBuffer(end)
        return bytes.withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            var position = position
            while !rest.isEmpty {
                let count = pwrite(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, position)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
                position += off_t(count)
            }
            return true
        }
    }
}
