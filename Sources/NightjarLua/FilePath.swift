import Nightjar
import NightjarHTTP
import NightjarSystem

/// The path of a file as bytes, which need not be UTF-8, and operations on the file.
///
/// Operations block while the file system works, but never wait for another process: named pipes and devices are opened
/// in non-blocking mode, and the script reads or writes them with waits that can be cancelled (pipe.c).
struct FilePath: Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The path in quotes, for messages.
    var name: String { quoted(String(decoding: bytes, as: UTF8.self), limit: 200) }

    /// Returns the error of a failed system call: `cannot read "/nowhere": No such file or directory`.
    func failure(_ verb: String, _ code: Int32) -> NightjarError {
        NightjarError(.storage, "cannot \(verb) \(name): \(systemText(code))", code: code)
    }

    func withC<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        let text = bytes.map(CChar.init(bitPattern:)) + [0]
        return text.withUnsafeBufferPointer { buffer in
            // Never empty: it ends with a NUL.
            body(buffer.baseAddress.unsafelyUnwrapped)
        }
    }

    /// Opens the file.
    ///
    /// - Returns: a descriptor with O_CLOEXEC and O_NONBLOCK. Regular files ignore O_NONBLOCK.
    func open(_ flags: Int32, _ verb: String, mode: mode_t = 0o666) throws(NightjarError) -> Int32 {
        let descriptor = withC { NightjarSystem.open($0, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode) }
        guard descriptor >= 0 else { throw failure(verb, errno) }
        return descriptor
    }

    /// The parent folder.
    var folder: FilePath {
        var end = bytes.count
        while end > 0, bytes[end - 1] == UInt8(ascii: "/") { end -= 1 }
        while end > 0, bytes[end - 1] != UInt8(ascii: "/") { end -= 1 }
        while end > 1, bytes[end - 1] == UInt8(ascii: "/") { end -= 1 }
        return FilePath(end == 0 ? [UInt8(ascii: ".")] : Array(bytes[..<end]))
    }

    func appending(_ name: [UInt8]) -> FilePath {
        FilePath(bytes.last == UInt8(ascii: "/") ? bytes + name : bytes + [UInt8(ascii: "/")] + name)
    }

    // MARK: Reading

    /// Returns whether reads and writes may wait for another process or a person. True for named pipes, character
    /// devices and sockets.
    static func isStream(_ status: NightjarSystem.stat) -> Bool {
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFDIR, S_IFBLK: false
        default: true
        }
    }

    /// Whether the file is a named pipe, a character device or a socket. False if the file does not exist.
    private var isStream: Bool {
        var status = NightjarSystem.stat()
        return withC { stat($0, &status) } == 0 && Self.isStream(status)
    }

    private func status(of descriptor: Int32, _ verb: String) throws(NightjarError) -> NightjarSystem.stat {
        var status = NightjarSystem.stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw failure(verb, code)
        }
        return status
    }

    /// Opens the file for reading. Returns an ``OpenFile`` and false or, for a named pipe or a character device, an
    /// ``OpenStream`` and true.
    func openSource() throws(NightjarError) -> WorkValue {
        let descriptor = try open(O_RDONLY, "read")
        if Self.isStream(try status(of: descriptor, "read")) {
            return .resource(OpenStream(descriptor), .boolean(true))
        }
        return .resource(OpenFile(self, descriptor), .boolean(false))
    }

    /// Opens a named pipe or a character device for writing.
    ///
    /// - Returns: `nothing` if no process has the named pipe open for reading.
    func openSink() throws(NightjarError) -> WorkValue {
        let descriptor = withC { NightjarSystem.open($0, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) }
        if descriptor >= 0 { return .resource(OpenStream(descriptor), .none) }
        let code = errno
        var status = NightjarSystem.stat()
        let isPipe = withC { stat($0, &status) } == 0 && status.st_mode & S_IFMT == S_IFIFO
        guard code == ENXIO, isPipe else { throw failure("write", code) }
        return .nothing
    }

    /// Reads the whole file.
    ///
    /// - Returns: the bytes, or an ``OpenStream`` for a named pipe or a character device.
    /// - Throws: `storage` if the file cannot be read; `too_large` if it is longer than `limit` bytes.
    func read(limit: Int) throws(NightjarError) -> WorkValue {
        let descriptor = try open(O_RDONLY, "read")
        let status = try status(of: descriptor, "read")
        if Self.isStream(status) { return .resource(OpenStream(descriptor), .none) }
        defer { close(descriptor) }
        // The size is only a hint: files such as those in /proc report none.
        let expected = min(max(Int(status.st_size), 0), limit)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(expected)
        while true {
            let room = max(FilePath.smallestRead, min(expected - bytes.count + 1, FilePath.largestPart))
            let part = try read(descriptor, room)
            if part.isEmpty { return .one(.string(bytes)) }
            guard bytes.count + part.count <= limit else {
                throw NightjarError(.tooLarge, "\(name) is larger than the limit of \(limit) bytes")
            }
            bytes += part
        }
    }

    /// Reads the next bytes of the open file; empty at the end.
    func read(_ descriptor: Int32, _ most: Int) throws(NightjarError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            let got = NightjarSystem.read(descriptor, buffer.baseAddress, most)
            if got < 0 { code = errno }
            count = max(0, got)
        }
        if code != 0 { throw failure("read", code) }
        return bytes
    }

    // MARK: Writing

    /// Replaces the content of the file.
    ///
    /// - Parameters:
    ///   - isAtomic: whether to write a temporary file in the same folder, sync it to disk and rename it.
    ///   - mode: the mode of the file; nil: the mode of the replaced file, or the default of the process.
    /// - Returns: false for a named pipe or a character device, which must be opened with ``openSink()``.
    func write(_ text: [UInt8], isAtomic: Bool, mode: mode_t?) throws(NightjarError) -> Bool {
        var status = NightjarSystem.stat()
        let isThere = withC { stat($0, &status) } == 0
        if isThere, Self.isStream(status) { return false }
        if !isAtomic || isThere && status.st_mode & S_IFMT != S_IFREG {
            let descriptor = try open(O_WRONLY | O_CREAT | O_TRUNC, "write", mode: (mode ?? 0o666) & 0o777)
            defer { close(descriptor) }
            if let mode, fchmod(descriptor, mode) != 0 { throw failure("write", errno) }
            try put(text, into: descriptor)
            return true
        }
        try replace(mode: mode ?? (isThere ? status.st_mode & 0o7777 : nil)) { descriptor throws(NightjarError) in
            try put(text, into: descriptor)
        }
        return true
    }

    /// Appends to the file.
    ///
    /// - Returns: false for a named pipe or a character device, which must be opened with ``openSink()``.
    func append(_ text: [UInt8]) throws(NightjarError) -> Bool {
        if isStream { return false }
        let descriptor = try open(O_WRONLY | O_CREAT | O_APPEND, "append to")
        defer { close(descriptor) }
        try put(text, into: descriptor)
        return true
    }

    /// Replaces the file by a new one. If the path is a link to an existing file, replaces the link's target.
    private func replace(
        mode: mode_t?, _ fill: (Int32) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        let target = resolved
        var descriptor: Int32 = -1
        let temporary = try target.folder.makeUnique(Array(".nightjar-".utf8), Array(".tmp".utf8), for: self) { path in
            // With an explicit mode, the file is private until that mode is set.
            descriptor = NightjarSystem.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode == nil ? 0o666 : 0o600)
            return descriptor >= 0 ? 0 : errno
        }
        do throws(NightjarError) {
            defer { close(descriptor) }
            try fill(descriptor)
            if let mode, fchmod(descriptor, mode) != 0 { throw failure("write", errno) }
            guard fsync(descriptor) == 0 else { throw failure("write", errno) }
            guard temporary.withC({ from in target.withC { NightjarSystem.rename(from, $0) } }) == 0 else {
                throw failure("write", errno)
            }
        } catch {
            temporary.withC { _ = unlink($0) }
            throw error
        }
        // Syncs the directory entry. Some file systems do not support this and do not need it.
        let folder = target.folder.withC { NightjarSystem.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
    }

    /// The path of the file after links have been followed; the path itself if it cannot be resolved.
    private var resolved: FilePath {
        withC { path in
            guard let real = realpath(path, nil) else { return self }
            defer { free(real) }
            return FilePath(UnsafeBufferPointer(start: real, count: strlen(real)).map(UInt8.init(bitPattern:)))
        }
    }

    private func put(_ text: [UInt8], into descriptor: Int32) throws(NightjarError) {
        var code: Int32 = 0
        text.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = NightjarSystem.write(
                    descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                guard count >= 0 else {
                    code = errno
                    return
                }
                rest = rest.dropFirst(count)
            }
        }
        if code != 0 { throw failure("write", code) }
    }

    /// Copies the file.
    ///
    /// - Returns: false, without a copy, if one of the files is a named pipe or a character device.
    func copy(to target: FilePath) throws(NightjarError) -> Bool {
        if isStream || target.isStream { return false }
        let source = try open(O_RDONLY, "copy")
        let status = try status(of: source, "copy")
        defer { close(source) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw failure("copy", EISDIR) }
        try target.replace(mode: status.st_mode & 0o777) { descriptor throws(NightjarError) in
            while true {
                let part = try read(source, FilePath.largestPart)
                if part.isEmpty { return }
                try target.put(part, into: descriptor)
            }
        }
        return true
    }

    func rename(to target: FilePath) throws(NightjarError) {
        let result = withC { from in target.withC { NightjarSystem.rename(from, $0) } }
        guard result == 0 else {
            let code = errno
            throw NightjarError(
                .storage, "cannot rename \(name) to \(target.name): \(systemText(code))", code: code)
        }
    }

    /// Creates a file or folder with an unused name in this folder.
    ///
    /// - Parameters:
    ///   - path: the path in error messages; nil: this folder.
    ///   - make: returns 0 or an errno value.
    func makeUnique(
        _ prefix: [UInt8], _ suffix: [UInt8], for path: FilePath? = nil, _ make: (UnsafePointer<CChar>) -> Int32
    ) throws(NightjarError) -> FilePath {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var code = EEXIST
        for _ in 0..<FilePath.tries where code == EEXIST {
            let middle = (0..<12).map { _ in letters.randomElement() ?? letters[0] }
            let made = appending(prefix + middle + suffix)
            code = made.withC(make)
            if code == 0 { return made }
        }
        throw path?.failure("write", code) ?? failure("create a temporary file in", code)
    }

    // MARK: Sizes in bytes

    /// The minimum size of a read, and the size of each read if the size of the file is unknown.
    private static let smallestRead = 64 * 1024
    /// The largest single read.
    private static let largestPart = 1 << 20
    /// The number of random names that are tried. With 62 random bits, even one collision is improbable.
    private static let tries = 16
}
