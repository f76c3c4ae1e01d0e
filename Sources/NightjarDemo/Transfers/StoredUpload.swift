import NIOCore
import NightjarCrypto

/// An upload. Only the length and the digest of its content are stored.
final class StoredUpload {
    /// A request of an upload, possibly in progress.
    final class Entry {
        let method: String
        /// The value of the Upload-Offset field.
        let offset: Int?
        var status = 0
        /// The number of body bytes that were used.
        var bodyBytes = 0
        let fault: String?

        init(_ request: Request, _ fault: String?) {
            self.fault = fault
            method = request.head.method.rawValue
            offset = request.head.headers.first(name: "upload-offset").flatMap { Int($0.trimmed) }
        }
    }

    let id: Int
    /// `tus` or `resumable`.
    let kind: String
    let settings: UploadSettings
    /// The metadata of the creation, by field name.
    let metadata: [(name: String, value: String)]
    private(set) var offset = 0
    /// Nil if the client has not sent it.
    var length: Int?
    var isComplete = false { didSet { if isComplete, sha256 == nil { sha256 = digest.finish().hexadecimal } } }
    /// Whether the client has terminated the upload, or the server has removed it.
    var isRemoved = false
    /// The digest of a complete upload.
    private(set) var sha256: String?
    /// The number of the request that may append. An earlier request that is still in progress must end.
    private(set) var generation = 0
    /// The lowest offset that was reported since the last append. The server accepts bytes from there again.
    private var lowestOffset: Int?
    let expiry: NIODeadline?
    private(set) var entries: [Entry] = []
    private let digest = RunningDigest()

    private static let maximumEntries = 10_000

    init(id: Int, kind: String, _ settings: UploadSettings, length: Int?, metadata: [(name: String, value: String)]) {
        (self.id, self.kind, self.settings, self.length, self.metadata) = (id, kind, settings, length, metadata)
        expiry = settings.lifetime.map { .now() + $0 }
    }

    var path: String { "/\(kind)/\(id)" }
    var isExpired: Bool { expiry.map { NIODeadline.now() >= $0 } ?? false }

    /// Records a request, and ends an earlier request that is still in progress.
    func began(_ request: Request) -> Entry {
        generation += 1
        let entry = Entry(request, fault.kind.name)
        if entries.count < StoredUpload.maximumEntries { entries.append(entry) }
        return entry
    }

    /// Returns the fault of the latest request.
    var fault: UploadFault { settings.fault(of: generation) }

    /// Returns the offset for a response, which the fault of the request may change.
    func reportOffset() -> Int {
        let reported =
            switch fault.kind {
            case .low: max(offset - (fault.number ?? 1), 0)
            case .high: offset + (fault.number ?? 1)
            default: offset
            }
        lowestOffset = min(lowestOffset ?? reported, reported)
        return reported
    }

    /// Returns how many bytes of a request with this offset the upload already has. Nil if the request must be rejected.
    func overlap(at given: Int) -> Int? {
        guard given <= offset, given >= min(lowestOffset ?? offset, offset) else { return nil }
        lowestOffset = nil
        return offset - given
    }

    func append(_ bytes: ByteBuffer) {
        bytes.withUnsafeReadableBytes { digest.update($0) }
        offset += bytes.readableBytes
    }

    var json: JSON {
        [
            "id": .int(id), "kind": .string(kind), "path": .string(path), "offset": .int(offset),
            "length": length.map(JSON.int) ?? .null, "complete": .bool(isComplete), "removed": .bool(isRemoved),
            "sha256": .optional(sha256),
            "metadata": .object(metadata.map { .init(name: $0.name, value: .string($0.value)) }),
            "body_bytes": .int(entries.reduce(0) { $0 + $1.bodyBytes }),
            "requests": .array(entries.map(\.json)),
        ]
    }
}

extension StoredUpload.Entry {
    fileprivate var json: JSON {
        [
            "method": .string(method), "offset": offset.map(JSON.int) ?? .null, "status": .int(status),
            "body_bytes": .int(bodyBytes), "fault": .optional(fault),
        ]
    }
}

/// The uploads. `/__uploads/{run}` lists those whose creation had the parameter `run`, oldest first.
final class UploadStore: Resettable {
    private var uploads = BoundedTable<Int, StoredUpload>(capacity: 5000)
    private var lastID = 0

    func add(to router: inout Router) {
        router.on(.GET, "/__uploads/{run}") { [self] request throws(Problem) in
            let run = request.parameters["run"]
            let found = uploads.entries.map(\.value).filter { $0.settings.run == run }
            return .json(["uploads": .array(found.map(\.json))])
        }
    }

    func reset() { uploads.removeAll() }

    func create(kind: String, _ settings: UploadSettings, length: Int?, metadata: [(name: String, value: String)])
        -> StoredUpload
    {
        lastID += 1
        let upload = StoredUpload(id: lastID, kind: kind, settings, length: length, metadata: metadata)
        uploads.set(upload, for: lastID)
        return upload
    }

    /// Returns the upload of a request.
    ///
    /// - Throws: 404 or, with `gone=1`, 410 if the upload was removed or has expired.
    func upload(_ request: Request, kind: String) throws(Problem) -> StoredUpload {
        let id = try request.id(of: "upload")
        guard let upload = uploads[id], upload.kind == kind else { throw Problem.notFound("upload", id) }
        guard !upload.isRemoved, !upload.isExpired else {
            if upload.settings.isGone { throw Problem(.gone, "the upload \(id) was removed") }
            throw Problem.notFound("upload", id)
        }
        return upload
    }
}
