import Glibc
import Nightjar
import Synchronization

/// Something of the system that a script holds; it ends with ``close()``, or with its last owner.
class Resource: @unchecked Sendable {
    func close() {}
}

/// A file that is read from its start to its end.
final class OpenFile: Resource, @unchecked Sendable {
    private let path: FilePath
    private let descriptor: Mutex<Int32>

    init(_ path: FilePath) throws(NightjarError) {
        self.path = path
        descriptor = Mutex(try path.open(O_RDONLY, "read"))
    }

    deinit { close() }

    override func close() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }
    }

    /// - Returns: nothing at the end.
    func read(_ most: Int) throws(NightjarError) -> [UInt8] {
        var code: Int32 = 0
        // Under the lock, so that the number is not another file's by then; one reader is all there is.
        let bytes = descriptor.withLock { descriptor in
            [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
                let got = Glibc.read(descriptor, buffer.baseAddress, most)
                if got < 0 { code = errno }
                count = max(0, got)
            }
        }
        if code != 0 { throw path.failure("read", code) }
        return bytes
    }

    /// In bytes.
    static let largestRead: Int64 = 1 << 20
}

/// A file or a folder that is removed when it is closed, with all that is in it then; by the process that made it.
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

/// What is temporary of one Lua state, so that nothing stays when the process ends and nobody closes it.
final class Temporaries: Sendable {
    private struct State {
        var paths: [UInt64: FilePath] = [:]
        var lastNumber: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    /// A forked child has its parent's in memory, and they stay the parent's.
    private let owner = getpid()

    /// An empty file or folder that nobody else may read.
    ///
    /// - Throws: `storage`; `closed` when nothing is made any more.
    func make(
        isFolder: Bool, in folder: FilePath, prefix: [UInt8], suffix: [UInt8]
    ) throws(NightjarError) -> Temporary {
        // Under the lock: what has been made is known, or removeAll, which may be the last that the process does, has been.
        try state.withLock { state throws(NightjarError) in
            guard !state.isClosed else {
                throw NightjarError(.closed, "the script ends, and nothing temporary is made any more")
            }
            let path = try folder.makeUnique(prefix, suffix) { path in
                if isFolder { return mkdir(path, 0o700) == 0 ? 0 : errno }
                let descriptor = Glibc.open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
                guard descriptor >= 0 else { return errno }
                Glibc.close(descriptor)
                return 0
            }
            state.lastNumber += 1
            state.paths[state.lastNumber] = path
            return Temporary(path, state.lastNumber, of: self)
        }
    }

    fileprivate func remove(_ number: UInt64) {
        guard owner == getpid(), let path = state.withLock({ $0.paths.removeValue(forKey: number) }) else { return }
        // What cannot be removed stays: nobody is left to be told.
        _ = try? path.remove(isRecursive: true)
    }

    /// Nothing is made any more, either.
    func removeAll() {
        guard owner == getpid() else { return }
        let left = state.withLock { state in
            defer { state = State(isClosed: true) }
            return state.paths.values
        }
        for path in left { _ = try? path.remove(isRecursive: true) }
    }
}
