import NIOHTTP1

/// The header fields of a response under `/cache` that the query requests.
///
/// - `control`, repeatable: a Cache-Control field, verbatim.
/// - `expires`: the Expires field, in seconds after Date, or `garbage`, which sends `0`.
/// - `age`: an Age field, verbatim, so that it may be invalid.
/// - `date`: the Date field, in seconds from now, or `none`.
/// - `modified`: sends a Last-Modified field this many seconds before the last change of the name.
/// - `vary`: field names separated by commas, or `*`.
/// - `field`, repeatable: `Name:value`, verbatim.
struct CacheFields {
    let headers: HTTPHeaders
    let date: DateField
    /// The number of seconds from Last-Modified to the last change.
    let modified: Int?
    /// The field names of `vary`, without `*`.
    let varying: [String]

    /// The allowed values of `expires`, `date` and `modified`: about thirty years in each direction, in seconds.
    private static let offsets = -1_000_000_000...1_000_000_000
    private static let fieldLimit = 1000
    private static let fieldsLimit = 8

    init(_ request: Request) throws(Problem) {
        var headers = HTTPHeaders()
        for control in try CacheFields.values(request, "control") {
            headers.add(name: "Cache-Control", value: control)
        }
        switch request.query("date") {
        case nil: date = .now
        case "none": date = .absent
        default: date = .offset(try request.query("date", in: CacheFields.offsets, or: 0))
        }
        if request.query("expires") == "garbage" {
            headers.add(name: "Expires", value: "0")
        } else if request.query("expires") != nil {
            let seconds = try request.query("expires", in: CacheFields.offsets, or: 0)
            let offset = if case .offset(let offset) = date { offset } else { 0 }
            let expires = CalendarTime(seconds: CalendarTime.now() + offset + seconds)
            headers.add(name: "Expires", value: expires.httpDate)
        }
        for age in try CacheFields.values(request, "age") { headers.add(name: "Age", value: age) }
        modified =
            request.query("modified") == nil ? nil : try request.query("modified", in: CacheFields.offsets, or: 0)
        let names = try CacheFields.values(request, "vary").flatMap { $0.split(separator: ",").map(\.trimmed) }
        guard names.count <= CacheFields.fieldsLimit, names.allSatisfy({ $0 == "*" || CacheFields.isToken($0) }) else {
            throw Problem.query("vary", "must be at most \(CacheFields.fieldsLimit) names of fields, or *")
        }
        if !names.isEmpty { headers.add(name: "Vary", value: names.joined(separator: ", ")) }
        varying = names.filter { $0 != "*" }.map(String.init)
        try CacheFields.addOthers(request, to: &headers)
        self.headers = headers
    }

    private static func addOthers(_ request: Request, to headers: inout HTTPHeaders) throws(Problem) {
        for field in try values(request, "field") {
            let halves = field.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, isToken(halves[0]), !ownFields.contains(halves[0].lowercased()) else {
                throw Problem.query(
                    "field", "must be Name:value with a name other than \(ownFields.joined(separator: ", "))")
            }
            headers.add(name: String(halves[0]), value: String(halves[1].trimmed))
        }
    }

    /// Returns the first value of a query parameter. Throws 400 if the value cannot be sent in a header field.
    static func value(_ request: Request, _ name: String) throws(Problem) -> String? {
        try values(request, name).first
    }

    private static func values(_ request: Request, _ name: String) throws(Problem) -> [String] {
        let values = request.queryValues(name)
        guard values.count <= fieldsLimit else { throw Problem.query(name, "is repeated too often") }
        let isFit = values.allSatisfy { value in
            value.utf8.count <= fieldLimit && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        }
        guard isFit else {
            throw Problem.query(name, "must have at most \(fieldLimit) bytes and no control characters")
        }
        return values
    }

    private static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// The names that `field` must not have. The server sets these fields, or they have their own parameters.
    private static let ownFields = [
        "connection", "content-encoding", "content-length", "content-range", "content-type", "date", "etag", "expect",
        "keep-alive", "last-modified", "te", "trailer", "transfer-encoding", "upgrade",
    ]
}
