import NIOCore
import NIOHTTP1

/// The current representation of a resource, with its validators. Evaluates the conditions and ranges of a request. RFC
/// 9110 sections 13 and 14.
struct Representation {
    /// Content-Type, Cache-Control, Vary and similar fields.
    var headers: HTTPHeaders
    var content: any RangedContent
    var tag: EntityTag?
    /// Seconds since 1970.
    var modified: Int?
    /// True if range requests are supported.
    var hasRanges = false

    init(headers: HTTPHeaders, content: any RangedContent, tag: EntityTag? = nil, modified: Int? = nil) {
        self.headers = headers
        self.content = content
        self.tag = tag
        self.modified = modified
    }

    /// Cache-Control for resources that any client may change at any time. Caches store them and revalidate them before
    /// each use.
    static let validated = "no-cache"
    /// Cache-Control for resources of a single user that any client of this user may change at any time.
    static let validatedPrivate = "private, no-cache"

    /// Returns a JSON document with a strong tag derived from its bytes.
    static func json(_ document: JSON, control: String, modified: Int? = nil) -> Representation {
        let bytes = document.formatted()
        return Representation(
            headers: ["Content-Type": "application/json", "Cache-Control": control],
            content: ByteBuffer(bytes: bytes), tag: EntityTag(of: bytes), modified: modified)
    }

    /// Returns the response to a request: 200, 206, 304, 412 or 416, evaluated in the order of RFC 9110 section 13.2.2.
    func respond(_ request: Request) throws(Problem) -> Response {
        let fields = request.head.headers
        try checkChange(fields, isSafe: true)
        let isRead = request.head.method == .GET || request.head.method == .HEAD
        if isRead, isUnchanged(for: fields) { return notModified }
        let length = content.length
        var response = Response(.ok, headers: described, body: content.body(in: 0..<length))
        guard hasRanges else { return response }
        response.headers.add(name: "Accept-Ranges", value: "bytes")
        guard request.head.method == .GET, let text = fields.first(name: "range"), mayBePartial(fields) else {
            return response
        }
        switch ByteRange.read(text, of: length) {
        case .ignored:
            break
        case .range(let range):
            response.status = .partialContent
            response.headers.add(
                name: "Content-Range", value: "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)")
            response.body = content.body(in: range)
        case .unsatisfiable:
            throw Problem(
                .rangeNotSatisfiable, "the range is outside of the \(length) bytes of the resource",
                headers: ["Content-Range": "bytes */\(length)"])
        }
        return response
    }

    /// Checks If-Match, If-Unmodified-Since and If-None-Match before a change.
    func checkChange(_ request: Request) throws(Problem) {
        try checkChange(request.head.headers, isSafe: false)
    }

    /// Returns a 201 with the new representation, its validators and its location.
    func created(at location: String) -> Response {
        var response = Response(.created, headers: described, body: content.body(in: 0..<content.length))
        response.headers.remove(name: "Cache-Control")
        response.headers.add(name: "Location", value: location)
        return response
    }

    /// Returns a 200 with the new representation, for PATCH. A response to PUT must not have validators if the stored
    /// representation differs from the request body (RFC 9110 section 9.3.4).
    func changed(_ request: Request) -> Response {
        var response = Response(.ok, headers: described, body: content.body(in: 0..<content.length))
        response.headers.remove(name: "Cache-Control")
        response.headers.add(name: "Content-Location", value: request.path)
        return response
    }

    /// Adds the validators to the header fields of a response that is not the representation itself.
    func describe(_ headers: inout HTTPHeaders) {
        if let tag { headers.replaceOrAdd(name: "ETag", value: tag.text) }
        if let modified {
            headers.replaceOrAdd(name: "Last-Modified", value: CalendarTime(seconds: modified).httpDate)
        }
    }

    // MARK: Conditions

    private func checkChange(_ fields: HTTPHeaders, isSafe: Bool) throws(Problem) {
        if let selection = EntityTag.selection(fields, "if-match") {
            let isMatch =
                switch selection {
                case .any: true
                case .tags(let tags): tags.contains { tag?.matchesStrongly($0) == true }
                }
            guard isMatch else { throw failed("If-Match") }
        } else if let modified, let date = fields.date("if-unmodified-since"), modified > date {
            throw failed("If-Unmodified-Since")
        }
        if !isSafe, isNoneMatchFalse(fields) == true { throw failed("If-None-Match") }
    }

    private func isUnchanged(for fields: HTTPHeaders) -> Bool {
        if let isMatch = isNoneMatchFalse(fields) { return isMatch }
        guard let modified, let date = fields.date("if-modified-since") else { return false }
        return modified <= date
    }

    /// Returns whether the condition If-None-Match is false. Nil if the request has no such field.
    private func isNoneMatchFalse(_ fields: HTTPHeaders) -> Bool? {
        switch EntityTag.selection(fields, "if-none-match") {
        case nil: nil
        case .any: true
        case .tags(let tags): tags.contains { tag?.matchesWeakly($0) == true }
        }
    }

    /// Evaluates If-Range (RFC 9110 section 13.1.5). A date is a strong validator if it is at least one second in the
    /// past.
    private func mayBePartial(_ fields: HTTPHeaders) -> Bool {
        guard let text = fields.first(name: "if-range") else { return true }
        if let given = EntityTag(text) { return tag?.matchesStrongly(given) == true }
        guard let modified, let date = CalendarTime.seconds(httpDate: text) else { return false }
        return modified == date && modified < CalendarTime.now()
    }

    private func failed(_ field: String) -> Problem {
        Problem(.preconditionFailed, "the condition in \(field) is false for the current state of the resource")
    }

    // MARK: Responses

    private var described: HTTPHeaders {
        var headers = headers
        describe(&headers)
        return headers
    }

    /// A 304, without the fields that describe the omitted body (RFC 9110 section 15.4.5).
    private var notModified: Response {
        var headers = described
        for name in ["Content-Type", "Content-Encoding", "Content-Length"] { headers.remove(name: name) }
        if tag != nil { headers.remove(name: "Last-Modified") }
        return Response(.notModified, headers: headers)
    }
}

/// Content from which any range can be sent.
protocol RangedContent {
    var length: Int { get }
    /// - Parameter range: within `0..<length`.
    func body(in range: Range<Int>) -> Response.Body
}

extension ByteBuffer: RangedContent {
    var length: Int { readableBytes }

    func body(in range: Range<Int>) -> Response.Body {
        .bytes(getSlice(at: readerIndex + range.lowerBound, length: range.count) ?? ByteBuffer())
    }
}

/// A Range field with one range (RFC 9110 section 14.1.2). The response to multiple ranges is the complete
/// representation, as RFC 9110 permits.
enum ByteRange: Equatable {
    case range(Range<Int>)
    case unsatisfiable
    /// The field has another unit, is malformed or has several ranges.
    case ignored

    static func read(_ text: String, of length: Int) -> ByteRange {
        guard text.lowercased().hasPrefix("bytes=") else { return .ignored }
        let halves = text.dropFirst(6).trimmed.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
            return .ignored
        }
        // A number that overflows is treated as a number far beyond the end.
        let first = halves[0].isEmpty ? nil : Int(halves[0]) ?? Int.max
        let last = halves[1].isEmpty ? nil : Int(halves[1]) ?? Int.max
        switch (first, last) {
        case (nil, nil):
            return .ignored
        case (nil, let count?):
            return count == 0 || length == 0 ? .unsatisfiable : .range(max(0, length - count)..<length)
        case (let first?, let last):
            if let last, last < first { return .ignored }
            guard first < length else { return .unsatisfiable }
            return .range(first..<(min(last ?? length, length - 1) + 1))
        }
    }
}

extension HTTPHeaders {
    /// Returns a date in seconds since 1970. Nil if the field is missing, repeated or not a date.
    fileprivate func date(_ name: String) -> Int? {
        let fields = self[name]
        return fields.count == 1 ? CalendarTime.seconds(httpDate: fields[0]) : nil
    }
}
