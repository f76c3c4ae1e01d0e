import NightjarHTTP
import NightjarStorage

/// A background transfer at the time of the call that returned it.
public struct BackgroundTransfer: Sendable {
    public enum Kind: String, Sendable {
        case download, upload
    }

    public enum State: String, Sendable {
        /// The transfer waits for a worker, for its next attempt, or for its constraints.
        case waiting
        case running
        case paused
        case done
        /// The transfer has failed permanently; see ``BackgroundTransfer/error``.
        case failed
        case cancelled
        /// The transfer may be complete. The response to a request that must not be repeated was lost.
        case inDoubt = "in_doubt"

        public var isFinished: Bool {
            switch self {
            case .waiting, .running, .paused: false
            case .done, .failed, .cancelled, .inDoubt: true
            }
        }
    }

    public let id: String
    /// The number of the journal entry.
    let number: Int64
    public let kind: Kind
    public let state: State
    /// The URL with masked credentials.
    public let url: String
    /// The absolute path of the file. Of a finished download, its final path.
    public let path: String
    /// The number of bytes that a download has received or an upload has sent. Zero for an upload that does not run and is
    /// not complete.
    public let transferred: Int
    /// The size of the content. Nil if it is not known.
    public let total: Int?
    /// Bytes per second over the last 5 s. Nil if the transfer does not run.
    public let rate: Double?
    /// The number of times that a worker has worked on the transfer.
    public let attempts: Int
    /// The error of a transfer that has failed.
    public let error: NightjarError?
    /// The URL of a complete upload, if the server has named one.
    public let uploadURL: String?
    public let created: Timestamp?
    public let updated: Timestamp?
}

extension BackgroundTransfer {
    /// - Throws: `invalid_argument` if another version has recorded the transfer.
    ///
    /// - Parameter current: The progress that the worker has reported. Nil: that of the files and of the result.
    init(_ entry: JournalEntry, _ current: TransferProgress? = nil) throws(NightjarError) {
        let description = try TransferDescription(bytes: entry.input)
        let result = entry.result.flatMap { try? JSONValue(parsing: String(decoding: $0, as: UTF8.self)) } ?? .null
        (id, number) = (entry.id, entry.number)
        kind = description.kind
        state = State(entry)
        url = (try? RequestURL(description.url))?.redacted ?? ""
        (created, updated, attempts) = (entry.created, entry.updated, entry.attempts)
        var progress: (transferred: Int, total: Int?) = (0, nil)
        var path = description.path
        var uploadURL: String?
        switch (kind, state) {
        case (.download, .done):
            let file = Download.File(result)
            path = file.path
            progress = (file.size, file.size)
        case (.upload, .done):
            let upload = Upload.Result(result)
            uploadURL = upload.url
            progress = (upload.size, upload.size)
        case (.download, _): progress = description.storedProgress
        case (.upload, _): break
        }
        (self.path, self.uploadURL) = (path, uploadURL)
        (transferred, total) = current.map { ($0.transferred, $0.total) } ?? progress
        rate = current?.rate
        error = NightjarError(transferResult: result)
    }
}

extension BackgroundTransfer {
    /// The transfer as a JSON object, which has no members for unknown values.
    public var json: String {
        var members: [JSONValue.Member] = [
            .init("id", .string(id)), .init("kind", .string(kind.rawValue)), .init("state", .string(state.rawValue)),
            .init("url", .string(url)), .init("path", .string(path)),
            .init(kind == .download ? "received" : "sent", .integer(Int64(transferred))),
            .init("attempts", .integer(Int64(attempts))),
        ]
        if let total { members.append(.init("total", .integer(Int64(total)))) }
        if let rate { members.append(.init("rate", .number(rate))) }
        if let error {
            members.append(
                .init(
                    "error",
                    .object([.init("kind", .string(error.kind.name)), .init("message", .string(error.message))])))
        }
        if let uploadURL { members.append(.init("upload_url", .string(uploadURL))) }
        for case (let name, let time?) in [("created", created), ("updated", updated)] {
            members.append(.init(name, .number(time.secondsSince1970)))
        }
        return (try? JSONValue.object(members).encoded()).map { String(buffer: $0) } ?? "{}"
    }
}

extension BackgroundTransfer.State {
    package init(_ entry: JournalEntry) {
        self =
            switch entry.phase {
            case .pending: entry.isPaused ? .paused : .waiting
            case .running: entry.isPaused ? .paused : .running
            case .done: .done
            case .failed: .failed
            case .cancelled: .cancelled
            case .inDoubt: .inDoubt
            }
    }
}

extension TransferDescription {
    /// The path of the part of a download. Nil for an upload, and if the folder does not exist.
    private var part: String? {
        guard kind == .download, let target = try? DownloadTarget(path), let url = try? RequestURL(url) else {
            return nil
        }
        return target.part(urlHash: url.sha256, urlName: FileName.last(of: url.target))
    }

    /// The progress of a download by its part and the state file beside it.
    fileprivate var storedProgress: (transferred: Int, total: Int?) {
        let record = part.flatMap { PartFile.record(beside: $0) }
        return (record?.received.count ?? 0, record?.total)
    }

    /// Removes the part of a download that does not run.
    func discardPart() {
        // A part that another download writes is kept.
        if let part, let file = try? PartFile(part, mode: nil, creates: false) { file.discard() }
    }
}
