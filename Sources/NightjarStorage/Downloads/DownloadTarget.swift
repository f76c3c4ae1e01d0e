import NightjarHTTP
import NightjarSystem

/// Where a downloaded file will be. Symbolic links are resolved, so that the link is kept and its target is replaced.
package struct DownloadTarget: Sendable, Equatable {
    /// The folder of the file, as an absolute path.
    package let folder: String
    /// Nil: the caller has given a folder, and the server suggests the name.
    package let name: String?

    /// - Parameter path: The path of the file. A path that ends with a slash, or that is a folder, is the folder of the
    ///   file.
    /// - Throws: `invalid_argument` for an empty path or a NUL; `storage` if the folder does not exist, or if the path
    ///   is neither a file nor a folder.
    package init(_ path: String) throws(NightjarError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw NightjarError(.invalidArgument, "the path of the file must not be empty or contain a NUL")
        }
        var status = stat()
        let exists = stat(path, &status) == 0
        if path.utf8.last == UInt8(ascii: "/") || exists && status.st_mode & S_IFMT == S_IFDIR {
            guard let resolved = realpath(path, nil) else { throw FileFailure.error(errno, path, "opened") }
            defer { free(resolved) }
            (folder, name) = (String(cString: resolved), nil)
            return
        }
        guard !exists || status.st_mode & S_IFMT == S_IFREG else {
            throw NightjarError(.storage, "\(quoted(path)) is neither a file nor a folder; use another path")
        }
        (folder, name) = PrivateFile.split(try PrivateFile(path, "file").place())
    }

    /// Returns the path of the part.
    ///
    /// - Parameters:
    ///   - urlHash: distinguishes the parts of several URLs in a folder.
    ///   - urlName: the last segment of the URL's path.
    package func part(urlHash: String, urlName: String?) -> String {
        let stem = name ?? "\(urlName ?? DownloadTarget.defaultName)-\(urlHash.prefix(8))"
        let longest = 255 - (PartFile.suffix + PartFile.stateSuffix + PartFile.temporarySuffix).utf8.count
        let isShort = stem.utf8.count <= longest
        let short = isShort ? stem : FileName.shortened(stem, to: longest - 9) + "-" + urlHash.prefix(8)
        return path(of: short + PartFile.suffix)
    }

    package func path(of name: String) -> String { folder == "/" ? "/\(name)" : "\(folder)/\(name)" }

    /// The name of a file whose server suggests none.
    package static let defaultName = "download"
}

/// Errors of file operations.
enum FileFailure {
    static func error(_ code: Int32, _ path: String, _ verb: String) -> NightjarError {
        let reason = String(cString: strerror(code))
        return NightjarError(.storage, "\(quoted(path)) cannot be \(verb): \(reason)\(advice(code))", code: code)
    }

    static func error(_ code: Int32, doing operation: String) -> NightjarError {
        NightjarError(
            .storage, "\(operation) failed: \(String(cString: strerror(code)))\(advice(code))", code: code)
    }

    private static func advice(_ code: Int32) -> String {
        switch code {
        case ENOENT, ENOTDIR: "; check that its folder exists"
        case ENOSPC, EDQUOT: "; free some disk space"
        case EFBIG: "; the file system or a limit of the process does not allow such large files"
        case EACCES, EPERM, EROFS: "; check the permissions of the file and of its folder"
        default: ""
        }
    }
}
