import Glibc
import NightjarHTTP

enum FilePath {
    /// The path from the root on, so that what is relative to it can be found. Links are not followed.
    ///
    /// - Throws: `storage` where the working folder is gone.
    static func absolute(_ path: String) throws(NightjarError) -> String {
        guard path.utf8.first != UInt8(ascii: "/") else { return path }
        guard let folder = getcwd(nil, 0) else {
            let code = errno
            throw NightjarError(
                .storage, "the working folder cannot be told: \(String(cString: strerror(code)))", code: code)
        }
        defer { free(folder) }
        return "\(String(cString: folder))/\(path)"
    }
}
