import CLinux
import Glibc
import NightjarHTTP

/// A file for its owner's eyes alone, read whole and replaced whole.
package struct PrivateFile: Sendable {
    /// As its user named it, for messages.
    package let path: String
    /// What it is: `token file`.
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
            case ENOENT, ENOTDIR: "; is its folder there?"
            case ENOSPC, EDQUOT, EFBIG: "; make room, what was there is as it was"
            case EACCES, EPERM, EROFS: "; this process needs the right to write in its folder"
            default: ""
            }
        return failure("cannot be \(what): \(String(cString: strerror(code)))\(advice)", code: code)
    }

    // MARK: Opening

    /// Opens the file itself, behind no symbolic link, or makes it with O_CREAT: the one way in which files that hold secrets are
    /// opened.
    ///
    /// - Parameter flags: as open(2) has them. A file that others may open is refused to be read, and taken from them to be
    ///   written.
    /// - Returns: a descriptor, which the caller closes.
    /// - Throws: `storage`, with the system's number, for what is not a file of this user alone.
    package func open(_ name: [CChar], _ flags: Int32) throws(NightjarError) -> Int32 {
        var status = stat()
        let descriptor = clinux_open_private(name, flags, &status)
        guard descriptor < 0 else { return descriptor }
        switch descriptor {
        case CLINUX_NO_FILE.rawValue: throw failure("is not a file")
        case CLINUX_MANY_NAMES.rawValue:
            throw failure(
                "has \(status.st_nlink) names, so that it may be another file too; remove it, or name another")
        case CLINUX_FOREIGN.rawValue, CLINUX_SHARED.rawValue: try check(status)
        default: break
        }
        throw failure(errno: errno, doing: "opened")
    }

    // MARK: Name

    /// The one name of the file, which may be yet to be made, behind all symbolic links: what is replaced is what a link
    /// leads to, and who comes by another name comes to the same lock.
    func place() throws(NightjarError) -> String {
        guard !path.isEmpty, !path.utf8.contains(0), path.utf8.last != UInt8(ascii: "/") else {
            throw NightjarError(
                .invalidArgument, "the path of a \(kind) is empty, ends with a slash or has a NUL in it")
        }
        var name = path
        for _ in 0..<PrivateFile.mostLinks {
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

    /// What the system allows on the way to a file.
    private static let mostLinks = 40

    /// Where a symbolic link leads; nil: it is none.
    ///
    /// - Throws: for one that another user made, who would choose the file in this user's place.
    private func link(_ name: String) throws(NightjarError) -> String? {
        var status = stat()
        guard lstat(name, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return nil }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw failure(
                "is a symbolic link of the user with number \(status.st_uid), who may choose what it leads to")
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let count = readlink(name, start, buffer.count)
            guard count > 0 else { return nil }
            return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
        }
    }

    static func split(_ path: String) -> (folder: String, name: String) {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let folder = path[..<slash]
        return (folder.isEmpty ? "/" : String(folder), String(path[path.utf8.index(after: slash)...]))
    }

    // MARK: Reading

    /// - Returns: nil when there is none, in a folder that is there.
    /// - Throws: also when it is another user's, or others may read it: then it is not known whose content it is, or who
    ///   has seen it.
    func read(atMost limit: Int) throws(NightjarError) -> [UInt8]? {
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
        guard status.st_size <= limit else { throw failure("is too large to be one: it has \(status.st_size) bytes") }
        var content: [UInt8] = []
        while content.count <= limit {
            var count = 0
            let chunk = [UInt8](unsafeUninitializedCapacity: 16384) { buffer, filled in
                repeat {
                    count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                } while count < 0 && errno == EINTR
                filled = max(count, 0)
            }
            guard count >= 0 else { throw failure(errno: errno, doing: "read") }
            if count == 0 { return content }
            content += chunk
        }
        throw failure("is too large to be one")
    }

    /// Of a file that is there: a regular one, ours, and nobody else's business.
    func check(_ status: stat) throws(NightjarError) {
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure("is not a file") }
        guard status.st_uid == geteuid() else {
            throw failure("belongs to the user with number \(status.st_uid) and not to the one this process runs as")
        }
        guard status.st_mode & 0o077 == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw failure(
                "is open to other users (mode \(mode)), who may have seen its secret; chmod 600 it, or replace the secret"
            )
        }
    }

    // MARK: Writing

    /// Puts `content` in the place of what there is, at once for all who read, and durably. By one at a time.
    func replace(with content: [UInt8]) throws(NightjarError) {
        let place = try place()
        let temporary = place + PrivateFile.temporarySuffix
        // Of a process that was killed while it wrote.
        unlink(temporary)
        let descriptor = Glibc.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(errno: errno, doing: "written") }
        // A umask takes rights away, also the owner's.
        var code = fchmod(descriptor, 0o600) == 0 ? 0 : errno
        if code == 0 { code = withoutFileSizeSignal { PrivateFile.write(content, to: descriptor) } }
        if code == 0, fsync(descriptor) != 0 { code = errno }
        if close(descriptor) != 0, code == 0, errno != EINTR { code = errno }
        if code == 0, rename(temporary, place) != 0 { code = errno }
        guard code == 0 else {
            unlink(temporary)
            throw failure(errno: code, doing: "written")
        }
        try syncFolder(of: place)
    }

    /// Makes names durable: what was renamed, removed or made.
    func syncFolder(of place: String) throws(NightjarError) {
        let descriptor = Glibc.open(PrivateFile.split(place).folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(errno: errno, doing: "made durable") }
        defer { close(descriptor) }
        // EINVAL: a file system that keeps no folders to be written.
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw failure(errno: errno, doing: "made durable") }
    }

    /// One name, so that what killed processes leave is never more than one file.
    private static let temporarySuffix = ".new"

    private static func write(_ content: [UInt8], to descriptor: Int32) -> Int32 {
        content.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return count == 0 ? EIO : errno }
                rest = rest.dropFirst(count)
            }
            return 0
        }
    }
}
