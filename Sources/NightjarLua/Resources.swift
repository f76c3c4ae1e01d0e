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
    private let owner = getpid()
    private let isThere = Atomic<Bool>(true)

    init(isFolder: Bool, in folder: FilePath, prefix: [UInt8], suffix: [UInt8]) throws(NightjarError) {
        path = try folder.makeUnique(prefix, suffix) { path in
            if isFolder { return mkdir(path, 0o700) == 0 ? 0 : errno }
            let descriptor = Glibc.open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return errno }
            Glibc.close(descriptor)
            return 0
        }
    }

    deinit { close() }

    override func close() {
        guard owner == getpid(), isThere.exchange(false, ordering: .relaxed) else { return }
        // What cannot be removed stays: nobody is left to be told.
        _ = try? path.remove(isRecursive: true)
    }
}
