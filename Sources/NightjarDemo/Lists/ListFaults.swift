import NIOCore
import NIOHTTP1

/// Simulated faults of pages.
///
/// `fail=2,5` lists page numbers from 1. Each of these pages fails `times` times with `status`. With `drop=1`, it fails
/// by closing the connection without a response. The pages of `rate=3` fail with 429 and Retry-After. `retry_after` is
/// in seconds.
struct ListFaults {
    static let pagesLimit = 100

    let failing: [Int]
    let limited: [Int]
    let times: Int
    let status: Int
    let retryAfter: TimeAmount?
    let isDropped: Bool

    init(_ request: Request) throws(Problem) {
        failing = try ListFaults.pages(request, "fail")
        limited = try ListFaults.pages(request, "rate")
        times = try request.query("times", in: 0...1_000_000, or: 1)
        status = try request.query("status", in: 400...599, or: 503)
        retryAfter =
            request.query("retry_after") == nil ? nil : try request.queryDuration("retry_after", atMost: 3600, or: 0)
        isDropped = try request.query("drop", oneOf: ["0", "1"]) == "1"
    }

    /// Returns the fault for a request for a page. Nil if the request succeeds.
    ///
    /// - Parameter earlier: the number of earlier requests for the page that failed.
    func respond(page: Int, earlier: Int) -> Response? {
        guard earlier < times else { return nil }
        var headers: HTTPHeaders = [:]
        if limited.contains(page) {
            headers.add(name: "Retry-After", value: RetryAfter.seconds(retryAfter ?? .seconds(1)))
            return Problem(.tooManyRequests, "page \(page) was configured to be rate-limited", headers: headers)
                .response
        }
        guard failing.contains(page) else { return nil }
        if isDropped { return .dropped }
        if let retryAfter { headers.add(name: "Retry-After", value: RetryAfter.seconds(retryAfter)) }
        let status = HTTPResponseStatus(statusCode: status)
        return Problem(status, "page \(page) was configured to fail", headers: headers).response
    }

    private static func pages(_ request: Request, _ name: String) throws(Problem) -> [Int] {
        guard let text = request.query(name) else { return [] }
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        let pages = words.compactMap { Int($0) }.filter { $0 >= 1 }
        guard pages.count == words.count, pages.count <= pagesLimit else {
            throw Problem.query(name, "must be a comma-separated list of up to \(pagesLimit) page numbers from 1")
        }
        return pages
    }
}
