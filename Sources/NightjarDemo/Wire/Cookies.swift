import NIOHTTP1

/// Sets, shows and deletes cookies (RFC 6265). The server stores none of them.
struct Cookies {
    func add(to router: inout Router) {
        router.on(.GET, "/cookies", show)
        router.onAny("/cookies/set", set)
        router.onAny("/cookies/delete", delete)
        // The same handler under a deeper path, for cookies that are restricted to a path.
        router.on(.GET, "/cookies/paths/{path}", show)
    }

    /// Returns the cookies of the request in order, and the Cookie fields verbatim.
    private func show(_ request: Request) throws(Problem) -> Response {
        let fields = request.head.headers["cookie"]
        var pairs: [JSON] = []
        for pair in fields.flatMap({ $0.split(separator: ";") }) {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = halves[0].drop { $0 == " " }
            pairs.append([.string(String(name)), .string(halves.count == 2 ? String(halves[1]) : "")])
        }
        return .json(["cookies": .array(pairs), "fields": .array(fields.map { .string($0) })])
    }

    /// Sets a cookie from `name`, `value` and the attributes `path`, `domain`, `expires`, `max_age`, `same_site`,
    /// `secure` and `http_only`. Each `raw` is sent as a Set-Cookie field, verbatim. `then` is the target of a
    /// redirect.
    private func set(_ request: Request) throws(Problem) -> Response {
        var lines = request.queryValues("raw")
        if let name = request.query("name") {
            var line = "\(name)=\(request.query("value") ?? "")"
            for attribute in Cookies.attributes {
                if let value = request.query(attribute.parameter) { line += "; \(attribute.name)=\(value)" }
            }
            for flag in Cookies.flags {
                switch request.query(flag.parameter) {
                case nil, "false": break
                case "", "true": line += "; \(flag.name)"
                default: throw Problem.query(flag.parameter, "must be true or false")
                }
            }
            lines.append(line)
        }
        guard !lines.isEmpty else { throw Problem.query("name", "is required if there is no \"raw\"") }
        return try respond(request, setting: lines)
    }

    /// Expires the cookie `name`. `path` and `domain` must have the values with which the cookie was set.
    private func delete(_ request: Request) throws(Problem) -> Response {
        guard let name = request.query("name") else { throw Problem.query("name", "is required") }
        var line = "\(name)=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT"
        if let path = request.query("path") { line += "; Path=\(path)" }
        if let domain = request.query("domain") { line += "; Domain=\(domain)" }
        return try respond(request, setting: [line])
    }

    private func respond(_ request: Request, setting lines: [String]) throws(Problem) -> Response {
        let values = lines + [request.query("then") ?? ""]
        guard values.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }) else {
            throw Problem(
                .badRequest, "a cookie must not contain control characters because it is sent in a header field")
        }
        var response = Response.json(["set": .array(lines.map { .string($0) })])
        if let location = request.query("then") {
            response.status = .found
            response.headers.add(name: "Location", value: location)
        }
        for line in lines { response.headers.add(name: "Set-Cookie", value: line) }
        return response
    }

    private static let attributes: [(parameter: String, name: String)] = [
        ("path", "Path"), ("domain", "Domain"), ("expires", "Expires"), ("max_age", "Max-Age"),
        ("same_site", "SameSite"),
    ]

    private static let flags: [(parameter: String, name: String)] = [
        ("secure", "Secure"), ("http_only", "HttpOnly"),
    ]
}
