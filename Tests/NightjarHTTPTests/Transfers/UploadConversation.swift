import NIOCore

@testable import NightjarHTTP

/// A generator whose numbers are all 0, so that the waits are the shortest.
private struct Zero: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0 }
}

/// A conversation with an upload schedule. Actions are compared as texts.
final class UploadConversation {
    var schedule: UploadSchedule
    /// The last request.
    private(set) var request: UploadRequest?
    /// The unit of the ranges in texts, in bytes.
    var unit = 1
    /// Whether the last request has no response yet.
    private var isInProgress = false
    private var random = Zero()

    /// Starts the upload of a file with this number of bytes. Nil: the upload of a stream.
    init(
        _ uploadProtocol: UploadProtocol, _ size: Int?, method: Method = .post, isIdempotent: Bool = false,
        _ change: (inout UploadSettings) throws -> Void = { _ in }
    ) throws {
        var settings = UploadSettings()
        settings.uploadProtocol = uploadProtocol
        try change(&settings)
        schedule = try UploadSchedule(
            settings, method: method, isIdempotent: isIdempotent,
            size.map { .file(UploadConversation.identity($0)) } ?? .stream, contentType: "text/plain")
        schedule.start()
    }

    static func identity(_ size: Int) -> FileIdentity { FileIdentity(size: size, modified: 1, inode: 2, device: 3) }

    /// The actions so far, separated by commas.
    func actions() -> String {
        var texts: [String] = []
        while let action = next() {
            switch action {
            case .request(let request):
                texts.append(text(request))
            case .read(let from, let until): texts.append("read \(text(from..<until))")
            case .digest(let range, let algorithm):
                texts.append("\(algorithm.rawValue) " + (range.map { text($0) } ?? "all"))
            case .wait(let number, let time): texts.append("wait \(number) \(time.inSeconds)")
            case .cancel: if isInProgress { texts.append("cancel") }
            case .finish: texts.append("finish")
            case .fail(let error): texts.append("fail \(error.kind.name): \(error.message)")
            }
        }
        return texts.joined(separator: ", ")
    }

    /// Returns the next action.
    func next() -> UploadSchedule.Action? {
        let action = schedule.next()
        if case .request(let request)? = action { (self.request, isInProgress) = (request, true) }
        return action
    }

    private func text(_ range: Range<Int>) -> String { "\(range.lowerBound / unit)..<\(range.upperBound / unit)" }

    private func text(_ request: UploadRequest) -> String {
        let isHere = request.url.map { $0.origin == UploadConversation.base.origin } ?? true
        var target = request.url.map { isHere ? $0.target : $0.description } ?? "-"
        if !request.query.isEmpty {
            target += "?" + request.query.map { $0.name + "=" + $0.value }.joined(separator: "&")
        }
        let content =
            switch request.body {
            case .none: ""
            case .content(let range): range.upperBound == .max ? " all" : " " + text(range)
            case .text(let text): " " + text
            }
        return "\(request.method) \(target)\(content)"
    }

    /// The value of a field of the last request.
    func field(_ name: String) -> String? { request?.headers.first { $0.name == name }?.value }

    static let base = try! RequestURL("http://a.test/x")

    /// - Parameter toWholeBody: Whether the server responds after it has received the whole body.
    func respond(
        _ status: Int = 200, _ fields: String..., body: String = "", from url: String? = nil, toWholeBody: Bool = true,
        at now: Int64 = 0
    ) {
        isInProgress = false
        let url = url.map { try! RequestURL($0) } ?? request?.url ?? UploadConversation.base
        schedule.responded(
            UploadResponse(status: status, uploadHeaders(fields), ByteBuffer(string: body), url: url),
            toWholeBody: toWholeBody, at: Timestamp(secondsSince1970: now) ?? .epoch, using: &random)
    }

    func interim(_ status: Int, _ fields: String..., at now: Int64 = 0) {
        schedule.interim(
            status, uploadHeaders(fields), from: UploadConversation.base,
            at: Timestamp(secondsSince1970: now) ?? .epoch)
    }

    /// Reports an unexpected status.
    func reject(_ status: Int, _ fields: String..., retryAfter: Duration? = nil) {
        fail(.status(status, fields, retryAfter: retryAfter))
    }

    func fail(_ error: NightjarError = .lostConnection) {
        isInProgress = false
        schedule.failed(error, using: &random)
    }

    /// Ends the present wait.
    func wait() -> String {
        let wait = actions()
        guard wait.hasPrefix("wait "), let number = wait.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return wait }
        schedule.waited(number)
        return actions()
    }

    func read(_ end: Int, isAtEnd: Bool = false) { schedule.read(until: end, isAtEnd: isAtEnd) }

    func digest(_ checksum: Checksum) { schedule.digested(checksum) }
}

func uploadHeaders(_ fields: [String]) -> Headers {
    var headers = Headers()
    for field in fields {
        let parts = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        try? headers.add(String(parts[0]), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
    }
    return headers
}

extension NightjarError {
    static let lostConnection = NightjarError(
        .connectionLost, "the connection was lost", requestMayHaveBeenProcessed: true)

    /// The error of an unexpected status.
    static func status(_ status: Int, _ fields: [String] = [], retryAfter: Duration? = nil) -> NightjarError {
        let kind: ErrorKind =
            switch status {
            case 401: .unauthorized
            case 403: .forbidden
            case 404: .notFound
            case 429: .rateLimited
            case ..<500: .client
            default: .server
            }
        let response = Response(
            head: ResponseHead(status: status, headers: uploadHeaders(fields)), body: ByteBuffer(),
            url: UploadConversation.base)
        return NightjarError(kind, "status \(status)", response: response, retryAfter: retryAfter)
    }
}

extension Checksum {
    /// A digest with equal bytes.
    static func test(_ algorithm: Algorithm, _ byte: UInt8 = 0) -> Checksum {
        Checksum(algorithm, [UInt8](repeating: byte, count: algorithm.length))
    }
}
