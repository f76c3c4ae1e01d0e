import Glibc
import NightjarHTTP

/// cookies.txt as a file: curl's, and browsers' exports.
extension CookieStorage {
    /// Adds what the file holds; a line that is wrong is skipped and reported.
    ///
    /// - Throws: `storage` if the file cannot be read, or is a pipe or a device, which could block this thread.
    @discardableResult
    public func importFile(_ path: String) throws(NightjarError) -> CookiesText.Report {
        try checkProcess()
        return importText(try FileContent.read(path, atMost: CookieStorage.largestFile, isNamedByUser: false))
    }

    /// Writes the cookies so that their owner alone may read them. The file is whole or as it was before.
    ///
    /// - Throws: `storage` if the file cannot be written, or is a pipe or a device.
    public func exportFile(_ path: String) throws(NightjarError) {
        try checkProcess()
        try FileContent.write(Array(exportText().utf8), to: path)
    }

    /// A jar of 3000 cookies of 4 KiB, with room to spare.
    private static let largestFile = 32 << 20
}
