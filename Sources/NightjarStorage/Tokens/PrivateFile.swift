import CPlatform
import NightjarHTTP
import NightjarSystem

/// A file accessible only to its owner, read and replaced as a whole.
package struct PrivateFile: Sendable {
    /// The path as given by the user, for messages.
    package let path: String
    /// The kind of file for messages, such as `token file`.
    private let kind: String

    package init(_ path: String, _ kind: String) {
        self.path = path
        self.kind = kind
    }

    func failure(_ reason: String, code: Int32 = 0) -> NightjarError {
        NightjarError(.storage, "the \(kind) \(quoted(path)) \(reason)", code: code)
    }

    private func failure(errno code: Int32, doing what: String) -> NightjarError {
        let advice =
            switch code {
            case ENOENT, ENOTDIR: "; check that its folder exists"
            case ENOSPC, EDQUOT, EFBIG: "; free some disk space; the previous content is unchanged"
            case EACCES, EPERM, EROFS: "; check the permissions of the file and of its folder"
            default: ""
            }
        return failure("cannot be \(what): \(String(cString: strerror(code)))\(advice)", code: code)
    }

    // MARK: Opening

    /// Opens the file without following a symbolic link. Creates the file if `flags` contains O_CREAT.
    ///
    /// - Parameter flags: as in open(2). For reading, a file that other users can access is rejected. For writing, a
    ///   file with several hard links is rejected, and the mode is changed to 0600.
    /// - Returns: a descriptor owned by the caller.
    /// - Throws: `storage` if the file cannot be opened, is not a regular file, belongs to another user or is rejected.
    package func open(_ name: [CChar], _ flags: Int32) throws(NightjarError) -> Int32 {
        var status = stat()
        let descriptor = cplatform_open_private(name, flags, &status)
        guard descriptor < 0 else { return descriptor }
        switch descriptor {
        case CPLATFORM_NO_FILE.rawValue: throw failure("is not a regular file; use another path")
        case CPLATFORM_MANY_NAMES.rawValue:
            throw failure(
                "has \(status.st_nlink) hard links; remove it, or use another path")
        case CPLATFORM_FOREIGN.rawValue, CPLATFORM_SHARED.rawValue: try check(status)
        default: break
        }
        throw failure(errno: errno, doing: "opened")
    }

    // MARK: Name

    /// Returns the canonical path of the file, with all symbolic links resolved. The file need not exist.
    ///
    /// If the path is a symbolic link, a save replaces the target of the link. All symbolic links to a file therefore
    /// use the same lock.
    func place() throws(NightjarError) -> String {
        guard !path.isEmpty, !path.utf8.contains(0), path.utf8.last != UInt8(ascii: "/") else {
            throw NightjarError(
                .invalidArgument, "the path of a \(kind) must not be empty, end with a slash or contain a NUL")
        }
        var name = path
        for _ in 0..<PrivateFile.maximumLinks {
            guard let target = try link(name) else {
                let (folder, last) = PrivateFile.split(name)
                guard let resolved = realpath(folder, nil) else { throw failure(errno: errno, doing: "found") }
                defer { free(resolved) }
                let parent = String(cString: resolved)
                return parent == "/" ? "/\(last)" : "\(parent)/\(last)"
            }
            name = target.utf8.first == UInt8(ascii: "/") ? target : PrivateFile.split(name).folder + "/" + target
        }
        throw failure(errno: ELOOP, doing: "found")
    }

    /// The maximum number of symbolic links to follow, the same as Linux's limit for a path.
    private static let maximumLinks = 40

    /// Returns the target of the symbolic link `name`, or nil if `name` is not a symbolic link.
    ///
    /// - Throws: `storage` if the link belongs to another user except root, because its owner can change the target.
    private func link(_ name: String) throws(NightjarError) -> String? {
        var status = stat()
        guard lstat(name, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return nil }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw failure(
                "is a symbolic link of another user (uid \(status.st_uid)), who controls its target; use another path")
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(name, start, buffer.count)
            guard count > 0 else { return nil }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
        }
    }

    /// Creates the folder of the file and its parent folders, accessible only to their owner. Ignores errors: opening the
    /// file reports them.
    package func makeFolder() { PrivateFile.makeFolder(PrivateFile.split(path).folder) }

    private static func makeFolder(_ path: String) {
        guard mkdir(path, 0o700) != 0, errno == ENOENT else { return }
        let parent = split(path).folder
        guard parent.utf8.count < path.utf8.count else { return }
        makeFolder(parent)
        mkdir(path, 0o700)
    }

    static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let folder = path[..<slash]
        return (folder.isEmpty ? "/" : String(folder), String(path[path.utf8.index(after: slash)...]))
    }

    // MARK: Reading

    /// Reads the whole file.
    ///
    /// - Returns: nil if the file does not exist but its folder does.
    /// - Throws: `storage` if the file cannot be read, is not a regular file, is longer than `limit` bytes, belongs to
    ///   another user or is accessible to other users. Other users may have changed or read the content of an
    ///   accessible file. `invalid_argument` if the path is invalid.
    package func read(atMost limit: Int) throws(NightjarError) -> [UInt8]? {
        let place = try place()
        let descriptor: Int32
        do throws(NightjarError) {
            descriptor = try open(Array(place.utf8CString), O_RDONLY)
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(errno: errno, doing: "opened") }
        guard status.st_size <= limit else { throw failure("must have at most \(limit) bytes, got \(status.st_size)") }
        var content: [UInt8] = []
        while content.count <= limit {
            var count = 0
            let chunk = [UInt8](unsafeUninitializedCapacity: 16384) { buffer, filled in
                repeat {
                    count = NightjarSystem.read(descriptor, buffer.baseAddress, buffer.count)
                } while count < 0 && errno == EINTR
                filled = max(count, 0)
            }
            guard count >= 0 else { throw failure(errno: errno, doing: "read") }
            if count == 0 { return content }
            content += chunk
        }
        throw failure("must have at most \(limit) bytes")
    }

    /// Checks that an existing file is a regular file, owned by this user and inaccessible to other users.
    func check(_ status: stat) throws(NightjarError) {
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure("is not a regular file; use another path") }
        guard status.st_uid == geteuid() else {
            throw failure("belongs to another user (uid \(status.st_uid)); use another path")
        }
        guard status.st_mode & 0o077 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw failure(
                "is accessible to other users (mode \(mode)), who may have read the secret; run chmod 600 on it, or replace the secret"
            )
        }
    }

    // MARK: Writing

    /// Replaces the file atomically and durably. Calls for the same file must not overlap.
    package func replace(with content: [UInt8]) throws(NightjarError) {
        try replace { (write) throws(NightjarError) in try write(content) }
    }

    /// Replaces the file atomically and durably by a content that is written in pieces. Calls for the same file must not
    /// overlap.
    ///
    /// - Throws: `storage`, and the errors of `produce`. The previous content is then unchanged.
    func replace(
        _ produce: (_ write: ([UInt8]) throws(NightjarError) -> Void) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        let place = try place()
        let temporary = place + PrivateFile.temporarySuffix
        // Removes a file that a killed process left behind.
        unlink(temporary)
        let descriptor = NightjarSystem.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(errno: errno, doing: "written") }
        var isOpen = true
        do throws(NightjarError) {
            // The mode is set again, because the umask may have removed permissions of the owner.
            guard fchmod(descriptor, 0o600) == 0 else { throw failure(errno: errno, doing: "written") }
            try produce { content throws(NightjarError) in
                let code = withoutFileSizeSignal { PrivateFile.write(content, to: descriptor) }
                guard code == 0 else { throw failure(errno: code, doing: "written") }
            }
            let code = cplatform_sync(descriptor)
            guard code == 0 else { throw failure(errno: code, doing: "written") }
            isOpen = false
            guard close(descriptor) == 0 || errno == EINTR, rename(temporary, place) == 0 else {
                throw failure(errno: errno, doing: "written")
            }
        } catch {
            if isOpen { close(descriptor) }
            unlink(temporary)
            throw error
        }
        try syncFolder(of: place)
    }

    /// Syncs the folder after a file was created, renamed or removed.
    func syncFolder(of place: String) throws(NightjarError) {
        let descriptor = NightjarSystem.open(PrivateFile.split(place).folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(errno: errno, doing: "synced to disk") }
        defer { close(descriptor) }
        // EINVAL: the file system does not support syncing folders.
        let code = cplatform_sync(descriptor)
        guard code == 0 || code == EINVAL else { throw failure(errno: code, doing: "synced to disk") }
    }

    /// A fixed suffix, so that killed processes leave at most one file behind.
    private static let temporarySuffix = ".new"

    private static func write(_ content: [UInt8], to descriptor: Int32) -> Int32 {
        content.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = NightjarSystem.write(
                    descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return count == 0 ? EIO : errno }
                rest = rest.dropFirst(count)
            }
            return 0
        }
    }
}
