import NIOHTTP1

/// Redirects, for any method. RFC 9110 section 15.4.
struct Redirects {
    private static let statuses = [301, 302, 303, 307, 308]

    func add(to router: inout Router) {
        router.onAny("/redirect/{n}", count)
        router.onAny("/redirect-to", to)
        router.onAny("/redirect-loop", loop)
        router.onAny("/redirect-loop/{n}", cycle)
    }

    /// Redirects `n` times, the last time to `/echo`. With `absolute=true`, Location is an absolute URL.
    private func count(_ request: Request) throws(Problem) -> Response {
        let count = try request.parameter("n", in: 0...1000)
        let status = try status(request)
        guard count > 0 else { return try Echo.respond(request) }
        let query = request.head.uri.split(separator: "?", maxSplits: 1).dropFirst().first.map { "?" + $0 } ?? ""
        let path = (count == 1 ? "/echo" : "/redirect/\(count - 1)") + query
        let host = request.head.headers.first(name: "host") ?? ""
        let isAbsolute = request.query("absolute") == "true" && !host.isEmpty
        return redirect(status, to: isAbsolute ? "http://\(host)\(path)" : path)
    }

    /// Redirects to `url`, verbatim. Without `url`, the redirect has no Location.
    private func to(_ request: Request) throws(Problem) -> Response {
        let status = try status(request)
        guard let url = request.query("url") else { return redirect(status, to: nil) }
        guard url.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw Problem.query("url", "must not contain control characters because it is sent in a header field")
        }
        return redirect(status, to: url)
    }

    /// Redirects to the URL of the request.
    private func loop(_ request: Request) throws(Problem) -> Response {
        redirect(try status(request), to: request.head.uri)
    }

    /// Redirects in a cycle of `size` URLs. The default is 2.
    private func cycle(_ request: Request) throws(Problem) -> Response {
        let size = try request.query("size", in: 1...1000, or: 2)
        let place = try request.parameter("n", in: 0...999)
        let status = try status(request)
        return redirect(status, to: "/redirect-loop/\((place + 1) % size)?size=\(size)&status=\(status.code)")
    }

    private func status(_ request: Request) throws(Problem) -> HTTPResponseStatus {
        let code = try request.query("status", in: 300...399, or: 302)
        guard Redirects.statuses.contains(code) else {
            let known = Redirects.statuses.map { String($0) }.joined(separator: ", ")
            throw Problem.query("status", "must be one of \(known)")
        }
        return HTTPResponseStatus(statusCode: code)
    }

    private func redirect(_ status: HTTPResponseStatus, to location: String?) -> Response {
        var response = Response.json(["location": .optional(location)], status: status)
        if let location { response.headers.add(name: "Location", value: location) }
        return response
    }
}
