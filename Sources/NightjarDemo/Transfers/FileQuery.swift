import NIOCore

/// The parameters of `/file`, except for its faults.
///
/// - `size`, `seed`: the content. The default size is 1,000,000.
/// - `run`: the name under which the requests are counted and logged.
/// - `etag`: `strong`, `weak` or `none`. The default is `strong`.
/// - `modified`: Last-Modified in seconds since 1970, or `none`. The default is 1700000000.
/// - `date`: the difference of the Date field in seconds, or `none`.
/// - `ranges`: `0` ignores Range. `accept_ranges`: `bytes`, `none` or `absent`.
/// - `multiple`: the response to several ranges, `whole` or `multipart`.
/// - `length`: `known`, `chunked`, or `close` for a body that ends with the connection.
/// - `repr_digest`, `content_digest`: `none`, `right` or `wrong`.
/// - `disposition`: the value of Content-Disposition. `type`: the value of Content-Type.
/// - `coding`: `identity` or `gzip`.
/// - `change_after`: the content changes after each `change_after` requests, at most `changes` times. The default of
///   `changes` is 1. `change_at`: the content changes for all requests once this position of it has been requested, also
///   inside a response. `change_etag=same`: the ETag and Last-Modified stay. `change_size`: the size of the changed content.
/// - `rate`: bytes per second. `delay`: seconds before the head.
struct FileQuery {
    let content: FileContent
    let run: String?
    let tag: String
    let modified: Int?
    let date: DateField
    let hasRanges: Bool
    let acceptRanges: String
    let sendsMultipart: Bool
    let length: String
    let reprDigest: String
    let contentDigest: String
    let disposition: String?
    let type: String
    let isCoded: Bool
    let changeAfter: Int?
    let changes: Int
    let changePosition: Int?
    let keepsTag: Bool
    let changeSize: Int
    let rate: Int?
    let delay: TimeAmount
    let stallTime: TimeAmount

    private static let sizes = 0...(1 << 40)
    private static let defaultModified = 1_700_000_000

    init(_ request: Request) throws(Problem) {
        let size = try request.query("size", in: FileQuery.sizes, or: 1_000_000)
        content = FileContent(size: size, seed: UInt64(try request.query("seed", in: 0...Int.max, or: 1)))
        run = request.run
        tag = try request.query("etag", oneOf: ["strong", "weak", "none"])
        let hasDate = request.query("modified") != "none"
        modified = hasDate ? try request.query("modified", in: 0...(1 << 40), or: FileQuery.defaultModified) : nil
        date =
            switch request.query("date") {
            case nil: .now
            case "none": .absent
            default: .offset(try request.query("date", in: -(1 << 40)...(1 << 40), or: 0))
            }
        hasRanges = try request.query("ranges", oneOf: ["1", "0"]) == "1"
        acceptRanges = try request.query(
            "accept_ranges", oneOf: [hasRanges ? "bytes" : "absent", "bytes", "none", "absent"])
        sendsMultipart = try request.query("multiple", oneOf: ["whole", "multipart"]) == "multipart"
        length = try request.query("length", oneOf: ["known", "chunked", "close"])
        reprDigest = try request.query("repr_digest", oneOf: ["none", "right", "wrong"])
        contentDigest = try request.query("content_digest", oneOf: ["none", "right", "wrong"])
        disposition = request.query("disposition")
        type = request.query("type") ?? "application/octet-stream"
        isCoded = try request.query("coding", oneOf: ["identity", "gzip"]) == "gzip"
        changeAfter = try request.query("change_after", in: 1...1_000_000)
        changes = try request.query("changes", in: 1...1_000_000, or: 1)
        changePosition = try request.query("change_at", in: FileQuery.sizes)
        keepsTag = try request.query("change_etag", oneOf: ["new", "same"]) == "same"
        changeSize = try request.query("change_size", in: FileQuery.sizes, or: size)
        rate = try request.query("rate", in: 1...(1 << 40))
        delay = try request.queryDuration("delay", atMost: 60, or: 0)
        stallTime = try request.queryDuration("stall_time", atMost: 3600, or: 3600)
        guard !isCoded || size <= FileQuery.maximumInMemory else {
            throw Problem.query("size", "must be at most \(FileQuery.maximumInMemory) with coding=gzip")
        }
        let hasDigest = reprDigest != "none" || contentDigest != "none"
        guard !hasDigest || max(size, changeSize) <= FileDigests.maximumSize else {
            throw Problem.query("size", "must be at most \(FileDigests.maximumSize) with a digest")
        }
        for (name, value) in [("disposition", disposition ?? ""), ("type", type)] {
            guard value.unicodeScalars.allSatisfy({ $0 >= " " && $0 != "\u{7F}" }) else {
                throw Problem.query(name, "must not contain control characters")
            }
        }
    }

    /// The largest body that is produced in memory, in bytes.
    static let maximumInMemory = 16 << 20

    /// Returns the content after some changes.
    func content(version: Int) -> FileContent {
        guard version > 0 else { return content }
        return FileContent(size: changeSize, seed: content.seed &+ UInt64(version) &* 1_000_003)
    }

    /// Returns how often the content has changed when a request arrives.
    func version(of number: Int, hasReachedChange: Bool) -> Int {
        let byPosition = changePosition != nil && hasReachedChange ? 1 : 0
        return changeAfter.map { min(changes, (number - 1) / $0) } ?? byPosition
    }

    func entityTag(version: Int) -> EntityTag? {
        guard tag != "none" else { return nil }
        let suffix = isCoded ? "-gzip" : ""
        return EntityTag(
            isWeak: tag == "weak", opaque: "\(content.seed)-\(content.size)-\(keepsTag ? 0 : version)\(suffix)")
    }

    /// The time of the last modification. Each change is one second later.
    func modified(version: Int) -> Int? { modified.map { keepsTag ? $0 : $0 + version } }
}
