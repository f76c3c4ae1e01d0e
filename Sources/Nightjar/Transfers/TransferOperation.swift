/// A download or an upload. Any thread may use it.
package protocol TransferOperation: AnyObject {
    /// Whether the operation belongs to the parent of this forked process.
    var isOfParent: Bool { get }
    /// The text with which a later transfer continues. Nil: it could not continue.
    var resumeState: String? { get }
    /// Cancels the requests in progress.
    func pause()
    /// Continues a paused transfer.
    func resume()
    /// Ends the transfer with the error `cancelled`.
    ///
    /// - Parameter keeps: Whether a later transfer can continue.
    func cancel(keeps: Bool)
}

extension DownloadOperation: TransferOperation {
    package func cancel(keeps: Bool) { cancel(keepsPart: keeps) }
}

extension UploadOperation: TransferOperation {
    package func cancel(keeps: Bool) { cancel(keepsUpload: keeps) }
}
