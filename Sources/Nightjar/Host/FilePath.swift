import NightjarHTTP
import NightjarSystem

enum FilePath {
    /// Returns the absolute path. Links are not resolved.
    ///
    /// - Throws: `storage` if the working directory does not exist any more.
    static func absolute(_ path: String) throws(NightjarError) -> String {
        guard path.utf8.first != UInt8(ascii: "/") else { return path }
        guard let folder = getcwd(nil, 0) else {
            let code = errno
            throw NightjarError(
                .storage, "reading the working directory failed: \(String(cString: strerror(code)))", code: code)
        }
        defer { free(folder) }
        return "\(String(cString: folder))/\(path)"
    }
}
