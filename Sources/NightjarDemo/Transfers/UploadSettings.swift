import NIOCore

/// A fault of a request of an upload, and its position or amount.
struct UploadFault: Equatable {
    /// The raw value is the name in the parameter `faults`.
    enum Kind: String, CaseIterable {
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
    }

    var kind: Kind
    var number: Int?

    static let none = UploadFault(kind: .none)

    init(kind: Kind) { self.kind = kind }

    /// Reads `name` or `name@number`.
    init?(_ text: some StringProtocol) {
        let halves = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        guard let kind = Kind(rawValue: String(halves[0])) else { return nil }
        self.kind = kind
        guard halves.count == 2 else { return }
        guard let number = Int(halves[1]), (0...(1 << 40)).contains(number) else { return nil }
        self.number = number
    }

    /// The name in logs. Nil for no fault.
    var name: String? { kind == .none ? nil : kind.rawValue }
}

/// The parameters of the creation of an upload.
///
/// - `run`: the name under which `/__uploads/{run}` lists the upload.
/// - `faults`: a comma-separated list of the faults of the upload's requests, in order, beginning with the creation.
///   `name@number` sets the position or amount. The last one repeats with `repeat=1`.
/// - `max_size`: the largest length in bytes.
/// - `max_append`, `min_append`: the limits of a request's body (only `/resumable`).
/// - `lifetime`: the seconds until the upload expires. `gone=1`: an upload that was removed has the status 410, not 404.
/// - `interim=0`: no 104 responses. `progress`: the number of bytes after which a 104 response reports the offset.
/// - `location`: `path`, `url`, or `none` (only `/resumable`) for a creation without Location.
/// - `extensions`: the extensions of tus, separated by commas.
/// - `rate`: the bytes per second that the server reads. `stall_time`: the seconds of `stall`.
struct UploadSettings {
    let run: String?
    let faults: [UploadFault]
    let repeatsLast: Bool
    let maximumSize: Int?
    let maximumAppend: Int?
    let minimumAppend: Int?
    let lifetime: TimeAmount?
    let isGone: Bool
    let sendsInterim: Bool
    let progress: Int?
    let location: String
    let extensions: String
    let rate: Int?
    let stallTime: TimeAmount

    static let allExtensions = "creation,creation-with-upload,creation-defer-length,termination,checksum,expiration"
    private static let sizes = 0...(1 << 40)

    init(_ request: Request) throws(Problem) {
        run = request.query("run").map { String(decoding: $0.utf8.prefix(200), as: UTF8.self) }
        let words = (request.query("faults") ?? "").split(separator: ",")
        faults = words.compactMap { UploadFault($0) }
        guard faults.count == words.count, faults.count <= 1000 else {
            let known = UploadFault.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem.query("faults", "must be a comma-separated list of \(known)")
        }
        repeatsLast = try request.query("repeat", oneOf: ["0", "1"]) == "1"
        maximumSize = try UploadSettings.number(request, "max_size")
        maximumAppend = try UploadSettings.number(request, "max_append")
        minimumAppend = try UploadSettings.number(request, "min_append")
        lifetime =
            request.query("lifetime") == nil ? nil : try request.queryDuration("lifetime", atMost: 1_000_000, or: 0)
        isGone = try request.query("gone", oneOf: ["0", "1"]) == "1"
        sendsInterim = try request.query("interim", oneOf: ["1", "0"]) == "1"
        progress = try UploadSettings.number(request, "progress").map { max($0, 1) }
        location = try request.query("location", oneOf: ["path", "url", "none"])
        extensions = request.query("extensions") ?? UploadSettings.allExtensions
        rate = try UploadSettings.number(request, "rate").map { max($0, 1) }
        stallTime = try request.queryDuration("stall_time", atMost: 3600, or: 3600)
    }

    private static func number(_ request: Request, _ name: String) throws(Problem) -> Int? {
        request.query(name) == nil ? nil : try request.query(name, in: sizes, or: 0)
    }

    /// Returns the fault of a request with this number, from 1.
    func fault(of number: Int) -> UploadFault {
        if number <= faults.count { return faults[number - 1] }
        return repeatsLast ? faults.last ?? .none : .none
    }

    /// The value of the Location field.
    func location(of upload: StoredUpload, _ request: Request) -> String {
        guard location == "url", let host = request.head.headers.first(name: "host") else { return upload.path }
        return "http://\(host)\(upload.path)"
    }

    func has(_ name: String) -> Bool { extensions.split(separator: ",").contains(Substring(name)) }
}
