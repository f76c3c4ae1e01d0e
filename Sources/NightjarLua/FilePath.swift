import Glibc
import Nightjar

/// Where a file lies, in the system's own bytes, which need not be UTF-8; and what is done there. Everything may block.
struct FilePath: Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// For messages.
    var name: String { quoted(String(decoding: bytes, as: UTF8.self), limit: 200) }

    /// `cannot read "/nowhere": No such file or directory`
    func failure(_ verb: String, _ code: Int32) -> NightjarError {
        NightjarError(.storage, "cannot \(verb) \(name): \(systemText(code))", code: code)
    }

    func withC<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        let text = bytes.map(CChar.init(bitPattern:)) + [0]
        return text.withUnsafeBufferPointer { buffer in
            // Never empty: it ends with a zero.
            body(buffer.baseAddress.unsafelyUnwrapped)
        }
    }

    /// - Returns: a descriptor, closed when a program is run.
    func open(_ flags: Int32, _ verb: String, mode: mode_t = 0o666) throws(NightjarError) -> Int32 {
        let descriptor = withC { Glibc.open($0, flags | O_CLOEXEC, mode) }
        guard descriptor >= 0 else { throw failure(verb, errno) }
        return descriptor
    }

    /// The folder that it lies in.
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

    /// - Throws: `too_large` beyond `limit` bytes.
    func read(limit: Int) throws(NightjarError) -> [UInt8] {
        let descriptor = try open(O_RDONLY, "read")
        defer { close(descriptor) }
        var status = Glibc.stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("read", errno) }
        // What has no size, as those in /proc, is read as it comes.
        let expected = min(max(Int(status.st_size), 0), limit)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(expected)
        while true {
            let room = max(FilePath.smallestRead, min(expected - bytes.count + 1, FilePath.largestPart))
            let part = try Self.read(descriptor, room, of: self)
            if part.isEmpty { return bytes }
            guard bytes.count + part.count <= limit else {
                throw NightjarError(.tooLarge, "\(name) is larger than \(limit) bytes, the limit that it is read with")
            }
            bytes += part
        }
    }

    private static func read(_ descriptor: Int32, _ most: Int, of path: FilePath) throws(NightjarError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            let got = Glibc.read(descriptor, buffer.baseAddress, most)
            if got < 0 { code = errno }
            count = max(0, got)
        }
        if code != 0 { throw path.failure("read", code) }
        return bytes
    }

    // MARK: Writing

    /// - Parameters:
    ///   - isAtomic: under another name in the same folder, made sure to be on disk, and renamed. What is no plain file, as
    ///     /dev/stdout or a named pipe, is written as it is.
    ///   - mode: of the file; nil: that of the one that is replaced, or as the process makes files.
    func write(_ text: [UInt8], isAtomic: Bool, mode: mode_t?) throws(NightjarError) {
        var status = Glibc.stat()
        let isThere = withC { stat($0, &status) } == 0
        if !isAtomic || isThere && status.st_mode & S_IFMT != S_IFREG {
            let descriptor = try open(O_WRONLY | O_CREAT | O_TRUNC, "write")
            defer { close(descriptor) }
            if let mode, fchmod(descriptor, mode) != 0 { throw failure("write", errno) }
            return try put(text, into: descriptor)
        }
        try replace(mode: mode ?? (isThere ? status.st_mode & 0o7777 : nil)) { descriptor throws(NightjarError) in
            try put(text, into: descriptor)
        }
    }

    func append(_ text: [UInt8]) throws(NightjarError) {
        let descriptor = try open(O_WRONLY | O_CREAT | O_APPEND, "append to")
        defer { close(descriptor) }
        try put(text, into: descriptor)
    }

    /// The one that a link leads to is replaced, not the link.
    private func replace(
        mode: mode_t?, _ fill: (Int32) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        let target = resolved
        var descriptor: Int32 = -1
        let temporary = try target.folder.makeUnique(Array(".nightjar-".utf8), Array(".tmp".utf8), for: self) { path in
            descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
            return descriptor >= 0 ? 0 : errno
        }
        do throws(NightjarError) {
            defer { close(descriptor) }
            if let mode, fchmod(descriptor, mode) != 0 { throw failure("write", errno) }
            try fill(descriptor)
            guard fsync(descriptor) == 0 else { throw failure("write", errno) }
            guard temporary.withC({ from in target.withC { Glibc.rename(from, $0) } }) == 0 else {
                throw failure("write", errno)
            }
        } catch {
            temporary.withC { _ = unlink($0) }
            throw error
        }
        // The name itself; some file systems have no such call and need none.
        let folder = target.folder.withC { Glibc.open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        if folder >= 0 {
            fsync(folder)
            close(folder)
        }
    }

    /// Itself where there is nothing.
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
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                guard count >= 0 else {
                    code = errno
                    return
                }
                rest = rest.dropFirst(count)
            }
        }
        if code != 0 { throw failure("write", code) }
    }

    func copy(to target: FilePath) throws(NightjarError) {
        let source = try open(O_RDONLY, "copy")
        defer { close(source) }
        var status = Glibc.stat()
        guard fstat(source, &status) == 0 else { throw failure("copy", errno) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw failure("copy", EISDIR) }
        try target.replace(mode: status.st_mode & 0o777) { descriptor throws(NightjarError) in
            while true {
                let part = try Self.read(source, FilePath.largestPart, of: self)
                if part.isEmpty { return }
                try target.put(part, into: descriptor)
            }
        }
    }

    func rename(to target: FilePath) throws(NightjarError) {
        let result = withC { from in target.withC { Glibc.rename(from, $0) } }
        guard result == 0 else {
            let code = errno
            throw NightjarError(
                .storage, "cannot rename \(name) to \(target.name): \(systemText(code))", code: code)
        }
    }

    /// Makes something in this folder by a name that nothing there has.
    ///
    /// - Parameters:
    ///   - path: what messages are about; nil: this folder.
    ///   - make: returns 0, or the system's number.
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
        throw path?.failure("write", code) ?? failure("make something temporary in", code)
    }

    // MARK: Sizes, in bytes

    /// What is asked for where a size says nothing.
    private static let smallestRead = 64 * 1024
    /// Of one read or write.
    private static let largestPart = 1 << 20
    /// Names that are tried: with 62 random bits the second is a wonder.
    private static let tries = 16
}
