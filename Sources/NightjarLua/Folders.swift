import Nightjar
import NightjarSystem

// Folders and file status.

/// The status of a file (stat(2)).
struct FileStatus {
    let kind: String
    let size: Int
    /// Seconds since 1970.
    let modified: Double
    /// The permissions.
    let mode: Int

    init(_ status: NightjarSystem.stat) {
        kind = FileStatus.kind(of: status.st_mode)
        size = Int(status.st_size)
        modified = Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) * 1e-9
        mode = Int(status.st_mode & 0o7777)
    }

    var values: [ScriptValue] {
        [.string(kind), .integer(Int64(size)), .number(modified), .integer(Int64(mode))]
    }

    static func kind(of mode: mode_t) -> String {
        switch mode & S_IFMT {
        case S_IFREG: "file"
        case S_IFDIR: "folder"
        case S_IFLNK: "link"
        case S_IFIFO: "pipe"
        case S_IFSOCK: "socket"
        default: "device"
        }
    }
}

extension FilePath {
    /// Returns the status of the file.
    ///
    /// - Parameter follows: whether to report the target of a link instead of the link.
    /// - Returns: nil if the file does not exist.
    func status(follows: Bool) throws(NightjarError) -> FileStatus? {
        var status = NightjarSystem.stat()
        if withC({ follows ? stat($0, &status) : lstat($0, &status) }) == 0 { return FileStatus(status) }
        guard errno == ENOENT || errno == ENOTDIR else { throw failure("access", errno) }
        return nil
    }

    /// Returns the names and kinds of the folder's files, alternating, sorted by name.
    func list() throws(NightjarError) -> [ScriptValue] {
        guard let entries = try Folder(open(O_RDONLY | O_DIRECTORY, "list"), self).entries() else {
            throw NightjarError(
                .tooLarge, "cannot list \(name): it contains more than \(Folder.maximumEntries) files")
        }
        return entries.sorted { $0.name.lexicographicallyPrecedes($1.name) }
            .flatMap { [.string($0.name), .string($0.kind)] }
    }

    func makeFolder(withParents: Bool) throws(NightjarError) {
        if make() == 0 { return }
        let code = errno
        if code == ENOENT, withParents, folder.bytes != bytes {
            try folder.makeFolder(withParents: true)
            if make() == 0 || errno == EEXIST { return }
            throw failure("make", errno)
        }
        if code == EEXIST, withParents, try status(follows: true)?.kind == "folder" { return }
        throw failure("make", code)
    }

    private func make() -> Int32 { withC { mkdir($0, 0o777) } }

    /// Removes the file or folder.
    ///
    /// - Returns: whether the file existed.
    func remove(isRecursive: Bool) throws(NightjarError) -> Bool {
        if withC({ unlink($0) }) == 0 { return true }
        let code = errno
        if code == ENOENT || code == ENOTDIR { return false }
        guard try status(follows: false)?.kind == "folder" else { throw failure("remove", code) }
        if isRecursive { try empty() }
        guard withC({ rmdir($0) }) == 0 else {
            if errno == ENOENT { return false }
            let hint = errno == ENOTEMPTY && !isRecursive ? "; set recursive = true to remove its contents, too" : ""
            throw NightjarError(.storage, "cannot remove \(name): \(systemText(errno))\(hint)", code: errno)
        }
        return true
    }

    /// Removes the contents of the folder, deepest first. Names are relative to folder descriptors: if another process
    /// replaces a folder by a link, the link is not followed.
    private func empty() throws(NightjarError) {
        var way = [Folder(try open(O_RDONLY | O_DIRECTORY | O_NOFOLLOW, "remove"), self)]
        try way[0].load(for: self)
        while let here = way.last {
            guard let entry = here.next() else {
                way.removeLast()
                if let above = way.last, !above.removeFolder(here.path.bytes) {
                    throw here.path.failure("remove", errno)
                }
                continue
            }
            let path = here.path.bytes.isEmpty ? FilePath(entry.name) : here.path.appending(entry.name)
            if entry.kind != "folder" {
                guard here.removeFile(entry.name) else { throw path.failure("remove", errno) }
                continue
            }
            guard way.count < Folder.maximumDepth else { throw path.failure("remove", ENAMETOOLONG) }
            let descriptor = here.open(entry.name)
            guard descriptor >= 0 else { throw path.failure("remove", errno) }
            let below = Folder(descriptor, path)
            try below.load(for: path)
            way.append(below)
        }
    }
}

/// An open folder. Owns its descriptor.
private final class Folder {
    typealias Entry = (name: [UInt8], kind: String)

    let path: FilePath
    private let descriptor: Int32
    private var left: [Entry] = []

    init(_ descriptor: Int32, _ path: FilePath) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Reads the entries of the folder.
    ///
    /// - Returns: nil if there are more than ``maximumEntries``.
    func entries() throws(NightjarError) -> [Entry]? {
        let copy = dup(descriptor)
        guard copy >= 0 else { throw path.failure("list", errno) }
        guard let stream = fdopendir(copy) else {
            let code = errno
            close(copy)
            throw path.failure("list", code)
        }
        defer { closedir(stream) }
        var entries: [Entry] = []
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in Array(bytes.prefix { $0 != 0 }) }
            if name != [UInt8(ascii: ".")], name != Array("..".utf8) {
                guard entries.count < Folder.maximumEntries else { return nil }
                entries.append((name, kind(of: name, Int32(entry.pointee.d_type))))
            }
            errno = 0
        }
        if errno != 0 { throw path.failure("list", errno) }
        return entries
    }

    private func kind(of name: [UInt8], _ type: Int32) -> String {
        if type != Int32(DT_UNKNOWN) { return FileStatus.kind(of: mode_t(type) << 12) }
        var status = NightjarSystem.stat()
        let isKnown = FilePath(name).withC { fstatat(descriptor, $0, &status, AT_SYMLINK_NOFOLLOW) } == 0
        return isKnown ? FileStatus.kind(of: status.st_mode) : "file"
    }

    func load(for path: FilePath) throws(NightjarError) {
        guard let entries = try entries() else {
            throw NightjarError(
                .tooLarge, "cannot remove \(path.name): it contains more than \(Folder.maximumEntries) files")
        }
        left = entries
    }

    func next() -> Entry? { left.popLast() }

    func open(_ name: [UInt8]) -> Int32 {
        FilePath(name).withC { openat(descriptor, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
    }

    func removeFile(_ name: [UInt8]) -> Bool {
        FilePath(name).withC { unlinkat(descriptor, $0, 0) } == 0 || errno == ENOENT
    }

    /// - Parameter path: its last component is the folder's name.
    func removeFolder(_ path: [UInt8]) -> Bool {
        let name = Array(path.reversed().prefix { $0 != UInt8(ascii: "/") }.reversed())
        return FilePath(name).withC { unlinkat(descriptor, $0, AT_REMOVEDIR) } == 0 || errno == ENOENT
    }

    /// The maximum number of entries in memory, about 100 bytes each.
    static let maximumEntries = 1_000_000
    /// The maximum nesting depth. Each level takes a descriptor, and the default limit of a process is 1024.
    static let maximumDepth = 128
}
