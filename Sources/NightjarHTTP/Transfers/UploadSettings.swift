/// The protocol of an upload.
public enum UploadProtocol: String, Sendable, CaseIterable {
    /// One PUT request.
    case put
    /// One POST request.
    case post
    /// tus 1.0.0 with the extensions creation, creation-with-upload, creation-defer-length, expiration, termination and
    /// checksum.
    case tus
    /// "Resumable Uploads for HTTP", draft-ietf-httpbis-resumable-upload, interop version 8.
    case resumable
    /// A multipart upload of Amazon S3 and compatible servers.
    case s3
    /// The upload of a blob to a container registry (OCI Distribution Specification).
    case oci
}

/// The settings of an upload.
public struct UploadSettings: Sendable {
    /// The protocol of an upload.
    public typealias UploadProtocol = NightjarHTTP.UploadProtocol

    /// The digest of the content.
    public enum Digest: Sendable, Equatable {
        /// The client computes the digest.
        case algorithm(Checksum.Algorithm)
        /// The content must have this digest.
        case value(Checksum)

        var algorithm: Checksum.Algorithm {
            switch self {
            case .algorithm(let algorithm): algorithm
            case .value(let checksum): checksum.algorithm
            }
        }
    }

    public var uploadProtocol = UploadProtocol.put
    /// The id of the upload in the client's journal (``Configuration/journalPath``), 1 to 256 bytes. Nil: the journal is
    /// not used.
    ///
    /// The journal keeps the state and the result of the transfer on disk. A later transfer with the same id, also in
    /// another process, continues the transfer, or returns its result if it has succeeded, until
    /// ``Client/removeTransfer(_:)`` removes it. A transfer with the same id and another URL, method, file or protocol
    /// fails with `invalid_argument`. A transfer that another process runs fails with `storage`.
    public var id: String?
    /// The state text of an earlier upload, which is continued. Nil: a new upload.
    public var resumeState: String?
    /// The digest that the server compares with the content. Nil: none, except for `UploadProtocol/oci`, which requires
    /// SHA-256.
    ///
    /// tus sends a digest with each request (Upload-Checksum), S3 one with each part (always
    /// Content-MD5). The other protocols send the digest of the whole content (RFC 9530 Repr-Digest, or the name of the
    /// blob).
    public var digest: Digest?
    /// The maximum number of bytes in each request. Nil: tus, resumable and oci send the rest of the content; s3 uses
    /// parts of at least 8 MiB, at most 10,000. S3 rejects parts of less than 5 MiB, except for the last one. Not for put
    /// and post.
    public var chunkSize: Int?
    /// Whether the first bytes are sent with the creation of the upload. Only for tus.
    public var createsWithData = false
    /// Whether a new upload is created if the server no longer has the upload. Otherwise the upload fails with
    /// `content_changed`.
    public var restarts = true
    /// The number of consecutive failures without new bytes after which the upload fails. Also the number of times that
    /// it may start over. 1 to 1,000,000; 1: it fails at the first failure.
    public var attempts = 5
    /// The longest wait before the first attempt after a failure. The wait is random and doubles for each further
    /// attempt, up to 60 s.
    public var retryDelay = Duration.seconds(1)
    /// The maximum rate in bytes per second. Nil: unlimited.
    public var maximumRate: Int?
    /// The metadata of the upload: Upload-Metadata of tus, `x-amz-meta-` fields of S3. The other protocols send headers
    /// of the request.
    public var metadata: [(name: String, value: String)] = []
    /// The media type of the content. Nil: guessed from the name of the file.
    public var contentType: String?

    public init() {}

    /// - Throws: `invalid_argument`.
    package func check() throws(NightjarError) {
        try TransferSettings.check(attempts: attempts, maximumRate: maximumRate, retryDelay: retryDelay)
        if let chunkSize {
            guard uploadProtocol != .put, uploadProtocol != .post else {
                throw NightjarError(
                    .invalidArgument,
                    "the protocol \(quoted(uploadProtocol.rawValue)) sends one request; remove chunk_size, or use another protocol"
                )
            }
            try TransferSettings.check("chunk_size", chunkSize, UploadSettings.chunkSizes)
        }
        try checkDigest()
        guard metadata.isEmpty || uploadProtocol == .tus || uploadProtocol == .s3 else {
            throw NightjarError(
                .invalidArgument,
                "the protocol \(quoted(uploadProtocol.rawValue)) has no metadata; send headers of the request instead")
        }
        guard !createsWithData || uploadProtocol == .tus else {
            throw NightjarError(.invalidArgument, "creation_with_upload requires the protocol \"tus\"")
        }
        for (name, _) in metadata {
            guard !name.isEmpty, name.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") }) else {
                throw NightjarError(
                    .invalidArgument, "the name \(quoted(name)) of metadata must be ASCII without spaces and commas")
            }
        }
        if let id { try TransferSettings.check(id: id) }
        if let resumeState {
            guard id == nil else {
                throw NightjarError(
                    .invalidArgument, "an upload with an id continues without a state text; remove id or resume")
            }
            guard uploadProtocol != .put, uploadProtocol != .post else {
                throw NightjarError(
                    .invalidArgument, "the protocol \(quoted(uploadProtocol.rawValue)) cannot continue an upload")
            }
            let record = try UploadRecord(resumeState)
            guard record.uploadProtocol == uploadProtocol else {
                throw NightjarError(
                    .invalidArgument,
                    "resume is the state of an upload with the protocol \(quoted(record.uploadProtocol.rawValue)), "
                        + "got the protocol \(quoted(uploadProtocol.rawValue))")
            }
        }
    }

    private func checkDigest() throws(NightjarError) {
        switch (uploadProtocol, digest) {
        case (.oci, let digest?) where digest.algorithm != .sha256:
            throw NightjarError(.invalidArgument, "the protocol \"oci\" requires a sha256 checksum")
        case (.put, .algorithm(let algorithm)), (.post, .algorithm(let algorithm)),
            (.resumable, .algorithm(let algorithm)):
            guard algorithm == .sha256 || algorithm == .sha512 else {
                throw NightjarError(
                    .invalidArgument,
                    "the protocol \(quoted(uploadProtocol.rawValue)) sends a sha256 or sha512 checksum (RFC 9530), got \(algorithm.rawValue)"
                )
            }
        default: break
        }
    }

    /// Checks that a stream can be uploaded with these settings.
    ///
    /// - Throws: `invalid_argument`.
    package func checkForStream() throws(NightjarError) {
        if let chunkSize, chunkSize > UploadSettings.largestStreamChunk {
            throw NightjarError(
                .invalidArgument,
                "chunk_size must be at most \(UploadSettings.largestStreamChunk) for a stream, whose chunks are held in memory, got \(chunkSize)"
            )
        }
        guard resumeState == nil, id == nil else {
            throw NightjarError(.invalidArgument, "an upload of a stream cannot be continued; pass the path of a file")
        }
        switch (uploadProtocol, digest) {
        case (.put, .algorithm), (.post, .algorithm), (.resumable, .algorithm):
            throw NightjarError(
                .invalidArgument,
                "the checksum of a stream is not known in advance; pass its digest, or remove checksum")
        case (.tus, .value), (.s3, .value):
            throw NightjarError(
                .invalidArgument,
                "the protocol \(quoted(uploadProtocol.rawValue)) sends digests of the requests of a stream; pass only the algorithm"
            )
        default: break
        }
    }

    private static let largestStreamChunk = 1 << 30
    package static let chunkSizes = 1...(1 << 40)
}
