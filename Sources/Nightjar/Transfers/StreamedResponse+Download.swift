import NightjarHTTP

extension StreamedResponse {
    /// Makes the response a download: its body is written to a file, and continued after failures with further requests.
    /// ``body`` must not have been read, and can no longer be read. The call's timeout does not apply any more.
    ///
    /// - Parameters:
    ///   - path: The path of the file, or of its folder; see ``Client/startDownload(_:to:_:progress:head:)``.
    ///   - settings: With one connection, and without a state text and an id. A part of an earlier download is discarded.
    ///   - progress: Called on the client's thread about ten times a second. Must not block.
    /// - Throws: `invalid_argument` for invalid settings, and if part of the body was read; `invalid_request` if the
    ///   request has a Range field; `reentrant` while another task reads the body; `cancelled`; `closed`; `forked`.
    public func startDownload(
        to path: String, _ settings: Download.Settings = .init(),
        progress: (@Sendable (Download.Progress) -> Void)? = nil
    ) async throws(NightjarError) -> Download {
        let (task, content) = (body.reading.task, body.reading.content)
        let result: Result<Download, NightjarError> = await withCheckedContinuation { continuation in
            let isOpen = task.runOnLoop {
                continuation.resume(
                    returning: Result { () throws(NightjarError) in
                        try content.handOver { (parts) throws(NightjarError) in
                            try Download(nil, progress) { (handlers, finished) throws(NightjarError) in
                                try Client.startDownload(
                                    of: .running(task), holding: parts, to: path, settings, on: nil, handlers,
                                    finished: finished)
                            }
                        }
                    })
            }
            if !isOpen { continuation.resume(returning: .failure(NightjarError(.closed, "the client is closed"))) }
        }
        return try result.get()
    }

    /// Makes the response a download, and waits for its end. Cancelling the Swift task cancels the download.
    ///
    /// Parameters and errors are those of ``startDownload(to:_:progress:)`` and ``Download/file()``.
    @discardableResult
    public func download(
        to path: String, _ settings: Download.Settings = .init(),
        progress: (@Sendable (Download.Progress) -> Void)? = nil
    ) async throws(NightjarError) -> Download.File {
        try await startDownload(to: path, settings, progress: progress).file()
    }
}
