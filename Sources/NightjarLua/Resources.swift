import Nightjar
import NightjarSystem
import Synchronization

/// A system resource that a script holds. It is released by ``close()``, or when its last owner releases this object.
class Resource: @unchecked Sendable {
    func close() {}
}

/// A regular file that is read from start to end.
final class OpenFile: Resource, @unchecked Sendable {
    private struct State {
        var isReading = false
        var isClosed = false
    }

    private let path: FilePath
    private let descriptor: Int32
    private let state = Mutex(State())
    /// Locked during a read, which may take arbitrarily long. ``close()`` does not wait for this lock.
    private let turn = Mutex(())

    /// - Parameter descriptor: ownership is transferred.
    init(_ path: FilePath, _ descriptor: Int32) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close() }

    /// Closes the file, or makes the read in progress close it.
    override func close() {
        let closesNow = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed && !state.isReading
        }
        if closesNow { NightjarSystem.close(descriptor) }
    }

    /// Reads the next bytes; empty at the end of the file.
    func read(_ most: Int) throws(NightjarError) -> [UInt8] {
        try turn.withLock { _ throws(NightjarError) in
            let mayRead = state.withLock { state in
                state.isReading = !state.isClosed
                return state.isReading
            }
            guard mayRead else { throw NightjarError(.closed, "the file is closed") }
            defer { endReading() }
            return try path.read(descriptor, most)
        }
    }

    private func endReading() {
        let closesNow = state.withLock { state in
            state.isReading = false
            return state.isClosed
        }
        if closesNow { NightjarSystem.close(descriptor) }
    }

    /// The largest single read, in bytes.
    static let largestRead: Int64 = 1 << 20
}

/// Owns the descriptor of a named pipe or character device, opened in non-blocking mode, until the script takes the
/// descriptor.
final class OpenStream: Resource, @unchecked Sendable {
    private let descriptor: Mutex<Int32>

    /// - Parameter descriptor: ownership is transferred.
    init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    deinit { close() }

    override func close() {
        let descriptor = take()
        if descriptor >= 0 { NightjarSystem.close(descriptor) }
    }

    /// Returns the descriptor, which the caller then owns; -1 after the first call.
    func take() -> Int32 {
        descriptor.withLock { descriptor in
            defer { descriptor = -1 }
            return descriptor
        }
    }
}

/// A temporary file or folder. It is removed with its contents when it is closed, but only by the process that created
/// it.
final class Temporary: Resource, @unchecked Sendable {
    let path: FilePath
    private let number: UInt64
    private let all: Temporaries

    fileprivate init(_ path: FilePath, _ number: UInt64, of all: Temporaries) {
        self.path = path
        self.number = number
        self.all = all
    }

    deinit { close() }

    override func close() { all.remove(number) }
}

/// The temporary files and folders of one Lua state. They are removed at the latest when the state is closed or the
/// script calls `os.exit`.
final class Temporaries: Sendable {
    private struct State {
        var paths: [UInt64: FilePath] = [:]
        var lastNumber: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    /// The process that created the files. A forked child must not remove them.
    private let owner = getpid()

    /// Creates an empty file or folder that is accessible only to the user.
    ///
    /// - Throws: `storage`; `closed` after ``removeAll()``.
    func make(
        isFolder: Bool, in folder: FilePath, prefix: [UInt8], suffix: [UInt8]
    ) throws(NightjarError) -> Temporary {
        // The file is created under the lock, so that ``removeAll()`` cannot miss it.
        try state.withLock { state throws(NightjarError) in
            guard !state.isClosed else {
                throw NightjarError(.closed, "temporary files cannot be created: the script is ending")
            }
            let path = try folder.makeUnique(prefix, suffix) { path in
                if isFolder { return mkdir(path, 0o700) == 0 ? 0 : errno }
                let descriptor = NightjarSystem.open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
                guard descriptor >= 0 else { return errno }
                NightjarSystem.close(descriptor)
                return 0
            }
            state.lastNumber += 1
            state.paths[state.lastNumber] = path
            return Temporary(path, state.lastNumber, of: self)
        }
    }

    fileprivate func remove(_ number: UInt64) {
        guard owner == getpid(), let path = state.withLock({ $0.paths.removeValue(forKey: number) }) else { return }
        // Errors are ignored, because no caller could handle them.
        _ = try? path.remove(isRecursive: true)
    }

    /// Removes all files and folders. No files or folders can be created afterwards.
    func removeAll() {
        guard owner == getpid() else { return }
        let left = state.withLock { state in
            defer { state = State(isClosed: true) }
            return state.paths.values
        }
        for path in left { _ = try? path.remove(isRecursive: true) }
    }
}
