import NightjarHTTP
import NightjarSystem
import Synchronization

/// The folder of a ``DiskCache``: its index, and the bodies that are too large for the index.
///
/// Each body is a file named by its SHA-256: the first byte names one of 256 subfolders, and the other bytes name the
/// file in it. Another subfolder contains files that are still being written.
struct BodyFolder: Sendable {
    let path: String

    // MARK: Folders

    /// Creates the folder if it does not exist, accessible only to its owner.
    ///
    /// - Throws: if the folder cannot be created, is not a folder, belongs to another user or is writable by other
    ///   users. Other users could otherwise have written its content.
    func prepare() throws(DatabaseError) {
        BodyFolder.make(path)
        var status = stat()
        guard stat(path, &status) == 0 else { throw DatabaseError(errno: errno, path, doing: "created") }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw DatabaseError(.foreign, path, "is not a folder; use another path")
        }
        guard status.st_uid == geteuid() else {
            throw DatabaseError(.foreign, path, "belongs to another user (uid \(status.st_uid)); use another folder")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw DatabaseError(.foreign, path, "is writable by other users; run chmod 700 on it")
        }
        mkdir(temporaries, 0o700)
    }

    /// Creates the folder and its parent folders. Ignores errors.
    private static func make(_ path: String) {
        guard mkdir(path, 0o700) != 0, errno == ENOENT else { return }
        let parent = PrivateFile.split(path).folder
        guard parent.utf8.count < path.utf8.count else { return }
        make(parent)
        mkdir(path, 0o700)
    }

    var index: String { path + "/index.db" }
    var temporaries: String { path + "/new" }

    func folder(_ first: UInt8) -> String { path + "/" + Hexadecimal.encode([first]) }

    func file(_ hash: [UInt8]) -> String {
        path + "/" + Hexadecimal.encode(hash.prefix(1)) + "/" + Hexadecimal.encode(hash.dropFirst())
    }

    // MARK: Files

    /// Creates a temporary file for writing.
    ///
    /// - Returns: nil, with errno set, on failure.
    func makeTemporary() -> (path: String, descriptor: Int32)? {
        for _ in 0..<16 {
            let number = BodyFolder.counter.add(1, ordering: .relaxed).newValue
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            // Unique among processes, including processes of other PID namespaces.
            let place = "\(temporaries)/\(getpid())-\(now.tv_sec)-\(now.tv_nsec)-\(number)"
            let descriptor = NightjarSystem.open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            if descriptor >= 0 { return (place, descriptor) }
            if errno == ENOENT {
                guard mkdir(temporaries, 0o700) == 0 || errno == EEXIST else { return nil }
            } else if errno != EEXIST {
                return nil
            }
        }
        return nil
    }

    /// Renames a complete temporary file to its final name. Replaces an existing file of that name, which has the same
    /// content or is damaged.
    ///
    /// - Returns: 0 or an errno value.
    func place(_ temporary: String, as hash: [UInt8]) -> Int32 {
        guard let first = hash.first else { return EINVAL }
        let place = file(hash)
        if rename(temporary, place) == 0 { return 0 }
        guard errno == ENOENT else { return errno }
        mkdir(folder(first), 0o700)
        return rename(temporary, place) == 0 ? 0 : errno
    }

    func remove(_ hash: [UInt8]) { unlink(file(hash)) }

    func removeFile(_ path: String) { unlink(path) }

    /// Opens the file of a body for reading.
    ///
    /// - Returns: nil on failure. errno is then 0, ELOOP or ENXIO if the name refers to something other than a regular
    ///   file.
    func open(_ hash: [UInt8]) -> (descriptor: Int32, status: stat)? {
        let descriptor = NightjarSystem.open(file(hash), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            errno = 0
            return nil
        }
        return (descriptor, status)
    }

    // MARK: Leftover files

    /// Removes a temporary file that has not been modified for an hour, because its process was probably killed.
    func removeTemporary(_ name: String, at now: Timestamp) {
        let place = temporaries + "/" + name
        var status = stat()
        guard lstat(place, &status) == 0 else { return }
        let age = now.seconds.subtractingReportingOverflow(Int64(status.st_mtim.tv_sec)).partialValue
        // A modification time far in the future means that the clock was set back.
        if age > BodyFolder.gracePeriod || age < -BodyFolder.gracePeriod { unlink(place) }
    }

    func removeIndex(_ path: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
    }

    /// Removes damaged indexes that a process moved aside but did not remove, for example because it was killed.
    func removeDamaged() {
        for name in BodyFolder.names(in: path) where name.utf8.starts(with: "index.db.damaged-".utf8) {
            unlink(path + "/" + name)
        }
    }

    /// The age in seconds after which temporary files are removed. A download that pauses for longer may not be stored.
    private static let gracePeriod: Int64 = 3600

    static func names(in path: String) -> [String] {
        guard let listing = opendir(path) else { return [] }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    private static let counter = Atomic<UInt64>(0)
}
