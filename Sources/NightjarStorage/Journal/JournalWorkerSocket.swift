import CLocalSocket
import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// The local socket on which the worker process of a journal listens.
///
/// The socket is `nightjar/transferd.sock` in XDG_RUNTIME_DIR for the journal of the user. Another journal has a hash of its
/// path in the name. Without XDG_RUNTIME_DIR, the socket is beside the journal: `PATH.sock`.
package enum JournalWorkerSocket {
    /// Returns the path of the socket. Nil if the path is too long for a socket, or the journal has no folder.
    package static func path(journal: String) -> String? {
        path(journal: journal) { name in getenv(name).map { String(cString: $0) } }
    }

    /// Returns the path of the socket for its worker.
    ///
    /// - Throws: `storage` if the path is too long for a socket.
    package static func path(ofWorker journal: String) throws(NightjarError) -> String {
        guard let path = path(journal: journal) else {
            throw NightjarError(
                .storage,
                "the path of the socket of the journal \(quoted(journal)) is too long; use a shorter XDG_RUNTIME_DIR")
        }
        return path
    }

    /// - Parameter variable: Returns the value of an environment variable.
    static func path(journal: String, _ variable: (String) -> String?) -> String? {
        guard let place = try? PrivateFile(journal, "journal").place() else { return nil }
        let path: String
        if let folder = variable("XDG_RUNTIME_DIR"), folder.utf8.first == UInt8(ascii: "/") {
            let standard = JournalPath.standard(variable).flatMap { try? PrivateFile($0, "journal").place() }
            let suffix =
                standard.map { $0.isExactly(place) } == true
                ? "" : "-\(Hexadecimal.encode(Digest.sha256(Array(place.utf8))).prefix(16))"
            path = "\(folder)/nightjar/transferd\(suffix).sock"
        } else {
            path = place + ".sock"
        }
        return path.utf8.count <= UnixSocket.longestPath ? path : nil
    }

    /// Listens on the socket. The caller must be the worker of the journal: a socket on which no process listens is replaced.
    ///
    /// - Returns: A descriptor that the caller owns, and that does not block.
    /// - Throws: `storage` if the path or its folder belongs to another user, cannot be used, or if a process listens on it.
    package static func listen(_ path: String) throws(NightjarError) -> Int32 {
        let (folder, _) = PrivateFile.split(path)
        mkdir(folder, 0o700)
        var status = stat()
        guard lstat(folder, &status) == 0 else { throw failure(path, errno) }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw shared(folder)
        }
        let (parent, _) = PrivateFile.split(folder)
        guard stat(parent, &status) == 0, [0, geteuid()].contains(status.st_uid),
            status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0
        else { throw shared(parent) }
        if lstat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
                throw NightjarError(.storage, "\(quoted(path)) is not a socket of this user; remove it")
            }
            // systemd may listen on it.
            if let listener = connect(path) {
                close(listener)
                throw NightjarError(
                    .storage,
                    "another process listens on the socket \(quoted(path)), for example systemd; it starts transferd")
            }
            unlink(path)
        }
        let descriptor = njs_listen(path)
        guard descriptor >= 0 else { throw failure(path, -descriptor) }
        return descriptor
    }

    /// Makes an inherited socket of this process one that this object's other functions can use.
    ///
    /// - Returns: False if the descriptor is not a local stream socket that listens.
    package static func adopt(_ descriptor: Int32) -> Bool { njs_adopt_listener(descriptor) }

    /// Connects to the worker.
    ///
    /// - Returns: A descriptor that the caller owns, and that does not block. Nil if no process of this user listens.
    package static func connect(_ path: String) -> Int32? { ownPeer(njs_connect(path)) }

    /// Accepts a connection of this user.
    ///
    /// - Returns: A descriptor that the caller owns, and that does not block. Nil if there is none.
    /// - Throws: `storage` if the system has no descriptors or memory left.
    package static func accept(_ listener: Int32) throws(NightjarError) -> Int32? {
        let descriptor = njs_accept(listener)
        switch -descriptor {
        case EMFILE, ENFILE, ENOBUFS, ENOMEM:
            throw NightjarError(.storage, "accepting a connection failed: \(String(cString: strerror(-descriptor)))")
        default: return ownPeer(descriptor)
        }
    }

    private static func ownPeer(_ descriptor: Int32) -> Int32? {
        guard descriptor >= 0 else { return nil }
        guard njs_peer_is_this_user(descriptor) else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func shared(_ folder: String) -> NightjarError {
        NightjarError(
            .storage,
            "the folder \(quoted(folder)) of the socket can be changed by other users; restrict its permissions, or use another XDG_RUNTIME_DIR"
        )
    }

    private static func failure(_ path: String, _ code: Int32) -> NightjarError {
        NightjarError(
            .storage, "listening on the socket \(quoted(path)) failed: \(String(cString: strerror(code)))", code: code)
    }
}
