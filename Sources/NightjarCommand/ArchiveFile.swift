import NIOCore
import Nightjar
import NightjarHTTP
import NightjarStorage
import NightjarSystem
import Synchronization

/// `nightjar --har`: writes the exchanges of a script or subcommand as an HTTP archive.
///
/// Each entry overwrites the end of the archive and is followed by a new end, usually in the same system call, so that
/// the file is a complete archive even if the process is killed.
final class ArchiveFile: Sendable {
    private struct State {
        var writer: HARWriter
        /// The offset of the end of the archive in the file.
        var position: off_t
        var isBroken = false
    }

    private let name: String
    private let descriptor: Int32
    private let state: Mutex<State>

    /// Creates or overwrites the file with an empty archive.
    ///
    /// - Throws: `storage` if the file cannot be created or written.
    init(path: [UInt8], showsSecrets: Bool) throws(NightjarError) {
        name = String(decoding: path, as: UTF8.self)
        // Only the owner may read the archive, because even a masked archive contains requests and responses.
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
    func add(_ event: CallObserver.Event) {
        guard case .exchanged(let exchange) = event else { return }
        state.withLock { state in
            guard !state.isBroken else { return }
            let entry = state.writer.entry(HAREntry(exchange))
            if ArchiveFile.write(entry, state.writer.end(), to: descriptor, at: state.position) {
                state.position += off_t(entry.readableBytes)
            } else {
                Console.printError(ArchiveFile.failure(name).message + "; later exchanges are not recorded")
                state.isBroken = true
                // Restores the end of the archive, which needs no more space than before the failed write.
                ftruncate(descriptor, off_t(state.position))
                _ = ArchiveFile.write(ByteBuffer(), state.writer.end(), to: descriptor, at: state.position)
            }
        }
    }

    private static func failure(_ name: String) -> NightjarError {
        let code = errno
        return NightjarError(
            .storage, "the archive \(name) cannot be written: \(String(cString: strerror(code)))", code: code)
    }

    /// Writes an entry and the new end of the archive with one system call, unless the system writes less.
    private static func write(_ text: ByteBuffer, _ end: ByteBuffer, to descriptor: Int32, at position: off_t) -> Bool {
        var bytes = text
        bytes.writeImmutableBuffer(end)
        return bytes.withUnsafeReadableBytes { bytes in
            var rest = bytes[...]
            var position = position
            while !rest.isEmpty {
                let count = pwrite(
                    descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, off_t(position))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
                position += off_t(count)
            }
            return true
        }
    }
}
