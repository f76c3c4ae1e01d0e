import NightjarHTTP
import NightjarSystem

/// Import and export of cookies.txt files, as written by curl and browsers.
extension CookieStorage {
    /// Adds the cookies of a file. Invalid lines are skipped and reported.
    ///
    /// - Throws: `storage` if the file cannot be read, is larger than 32 MiB, or is a pipe or a device, which could
    ///   block this thread; `no_memory`; `forked`.
    @discardableResult
    public func importFile(_ path: String) throws(NightjarError) -> CookiesText.Report {
        try checkProcess()
        return try importText(try FileContent.read(path, atMost: CookieStorage.largestFile, isNamedByUser: false))
    }

    /// Writes the cookies to a file that only its owner can read. The file is replaced atomically.
    ///
    /// - Throws: `storage` if the file cannot be written, or is a pipe or a device; `forked`.
    public func exportFile(_ path: String) throws(NightjarError) {
        try checkProcess()
        try FileContent.write(Array(exportText().utf8), to: path)
    }

    /// The maximum size of an imported file in bytes: more than 3000 cookies of 4 KiB.
    private static let largestFile = 32 << 20
}
