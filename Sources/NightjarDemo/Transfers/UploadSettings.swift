import NIOCore

/// A fault of a request of an upload, and its position or amount.
typealias UploadFault = ListedFault<UploadFaultKind>

/// The raw value is the name in the parameter `faults`.
enum UploadFaultKind: String, CaseIterable {
    /// The connection is closed after a number of body bytes, which are stored.
    case cut
    /// The connection is reset after a number of body bytes, which are stored.
    case reset
    /// The connection is closed before the request is processed.
    case close
    /// The connection is closed without a response after the request was processed.
    case lost
    /// The status that is sent without processing the request.
    case status
    /// A 503 after a number of body bytes, which are stored. The client may still send.
    case early
    /// A 413 after a number of body bytes. The client may still send.
    case reject
    /// A 409 with the right offset.
    case conflict = "409"
    /// The reported offset is lower by a number of bytes. The server accepts these bytes again.
    case low
    /// The reported offset is higher by a number of bytes.
    case high
    /// The upload is removed before the request is processed.
    case expire
    /// The body is not read for `stall_time` seconds.
    case stall
    /// The first byte of the body is changed before it is stored.
    case damage
    case none

    /// The name in logs. Nil for no fault.
    var name: String? { self == .none ? nil : rawValue }
}

/// The parameters of the creation of an upload.
///
/// - `run`: the name under which `/__uploads/{run}` lists the upload.
/// - `faults` and `repeat`: the faults of the upload's requests, beginning with the creation. See ``FaultList``.
/// - `max_size`: the largest length in bytes.
/// - `max_append`, `min_append`: the limits of a request's body (only `/resumable`).
/// - `lifetime`: the seconds until the upload expires. `gone=1`: an upload that was removed has the status 410, not 404.
/// - `interim=0`: no 104 responses. `progress`: the number of bytes after which a 104 response reports the offset.
/// - `location`: `path`, `url`, or `none` (only `/resumable`) for a creation without Location.
/// - `extensions`: the extensions of tus, separated by commas.
/// - `rate`: the bytes per second that the server reads. `stall_time`: the seconds of `stall`.
struct UploadSettings {
    let run: String?
    private let faults: FaultList<UploadFaultKind>
    let maximumSize: Int?
    let maximumAppend: Int?
    let minimumAppend: Int?
    let lifetime: TimeAmount?
    let isGone: Bool
    let sendsInterim: Bool
    let progress: Int?
    let location: String
    let extensions: [String]
    let rate: Int?
    let stallTime: TimeAmount

    private static let allExtensions = [
        "creation", "creation-with-upload", "creation-defer-length", "termination", "checksum", "expiration",
    ]
    private static let sizes = 0...(1 << 40)

    init(_ request: Request) throws(Problem) {
        run = request.run
        faults = try FaultList(request)
        maximumSize = try request.query("max_size", in: UploadSettings.sizes)
        maximumAppend = try request.query("max_append", in: UploadSettings.sizes)
        minimumAppend = try request.query("min_append", in: UploadSettings.sizes)
        lifetime =
            request.query("lifetime") == nil ? nil : try request.queryDuration("lifetime", atMost: 1_000_000, or: 0)
        isGone = try request.query("gone", oneOf: ["0", "1"]) == "1"
        sendsInterim = try request.query("interim", oneOf: ["1", "0"]) == "1"
        progress = try request.query("progress", in: 1...(1 << 40))
        location = try request.query("location", oneOf: ["path", "url", "none"])
        let extensions = try request.queryList("extensions", of: UploadSettings.allExtensions) { word in
            UploadSettings.allExtensions.first { $0 == word }
        }
        self.extensions = request.query("extensions") == nil ? UploadSettings.allExtensions : extensions
        rate = try request.query("rate", in: 1...(1 << 40))
        stallTime = try request.queryDuration("stall_time", atMost: 3600, or: 3600)
    }

    /// Returns the fault of a request with this number, from 1.
    func fault(of number: Int) -> UploadFault { faults[number] ?? UploadFault(kind: .none) }

    /// The value of the Location field.
    func location(of upload: StoredUpload, _ request: Request) -> String {
        guard location == "url", let host = request.head.headers.first(name: "host") else { return upload.path }
        return "http://\(host)\(upload.path)"
    }
}
