import NIOCore
import NIOHTTP1

/// `/cache/{name}`: responses whose caching properties are set by the query (RFC 9111). Clients may use any names.
///
/// Each name has a version. A write increments it. ``CacheFields`` lists the fields that can be requested, and
/// ``CacheHit`` the other parameters.
struct CacheResources {
    let table: CacheTable
    let requester: Requester

    func add(to router: inout Router) {
        router.on(.GET, "/cache/{name}", read)
        for method in [HTTPMethod.POST, .PUT, .PATCH] { router.on(method, "/cache/{name}", write) }
        router.on(.DELETE, "/cache/{name}", forget)
        router.onAny("/cache/{name}/redirect", redirect)
        router.onAny("/cache/{name}/clear", clear)
        router.on(.GET, "/cache/{name}/missing") { request throws(Problem) in try error(request, .notFound) }
        router.on(.GET, "/cache/{name}/gone") { request throws(Problem) in try error(request, .gone) }
    }

    /// Each read with a valid query is counted for its name, even if the response is 304 or an error. With `fail=3`,
    /// the third and all later reads fail. The value of `failure` is the status of the failure, 503 by default, or
    /// `drop`.
    private func read(_ request: Request) throws(Problem) -> Response {
        let name = try name(request)
        let plan = try CacheHit(request, requester)
        let failure = try request.query("failure", oneOf: ["503", "500", "502", "504", "404", "drop"])
        let firstFailure = try request.query("fail", in: 1...1_000_000, or: Int.max)
        let entry = table.read(name)
        var response: Response
        if entry.reads < firstFailure {
            response = try plan.response(to: request, name: name, entry)
        } else if let status = Int(failure) {
            response = Problem(HTTPResponseStatus(statusCode: status), "this failure was requested").response
        } else {
            response = .dropped
        }
        response.headers.add(name: "Demo-Read", value: String(entry.reads))
        response.delay = plan.delay
        return response
    }

    /// Increments the version unless `status` requests an error. The body is ignored. `location` and `content-location`
    /// set the fields of the response.
    private func write(_ request: Request) throws(Problem) -> Response {
        let name = try name(request)
        let fields = try CacheFields(request)
        let status = try request.query("status", in: 200...599, or: 200)
        let delay = try request.queryDuration("delay", atMost: CacheHit.maximumDelay, or: 0)
        let locations = try locations(request)
        let entry = status < 400 ? table.change(name) : table[name]
        var response = Response.json(
            ["name": .string(name), "version": .int(entry.version)], status: HTTPResponseStatus(statusCode: status))
        response.headers.add(contentsOf: fields.headers)
        response.headers.add(contentsOf: locations)
        response.date = fields.date
        response.delay = delay
        return response
    }

    /// Deletes the name, so that its next version is 1. `status`, `location` and `content-location` have the same
    /// effect as for a write.
    private func forget(_ request: Request) throws(Problem) -> Response {
        let name = try name(request)
        let status = try request.query("status", in: 200...599, or: 204)
        let locations = try locations(request)
        if status < 400 { table.forget(name) }
        return Response(HTTPResponseStatus(statusCode: status), headers: locations)
    }

    /// Redirects to `to`. The default is the name itself.
    private func redirect(_ request: Request) throws(Problem) -> Response {
        let name = try name(request)
        let status = try request.query("status", oneOf: ["302", "301", "303", "307", "308"])
        let fields = try CacheFields(request)
        let location = try CacheFields.value(request, "to") ?? "/cache/\(Target.encode(name))"
        var response = Response.json(
            ["location": .string(location)], status: HTTPResponseStatus(statusCode: Int(status) ?? 302))
        response.headers.add(contentsOf: fields.headers)
        response.headers.add(name: "Location", value: location)
        response.date = fields.date
        return response
    }

    /// Sends Clear-Site-Data with `types`. The default is `cache`.
    private func clear(_ request: Request) throws(Problem) -> Response {
        _ = try name(request)
        let types = (request.query("types") ?? "cache").split(separator: ",").map(String.init)
        let known = ["cache", "cookies", "storage", "executionContexts", "*"]
        guard !types.isEmpty, types.count <= known.count, types.allSatisfy(known.contains) else {
            throw Problem.query("types", "must be a comma-separated list of \(known.joined(separator: ", "))")
        }
        var response = Response.json(["cleared": .array(types.map(JSON.string))])
        response.headers.add(name: "Cache-Control", value: "no-store")
        response.headers.add(name: "Clear-Site-Data", value: types.map { "\"\($0)\"" }.joined(separator: ", "))
        return response
    }

    /// Sends a cacheable error. The default lifetime is a minute.
    private func error(_ request: Request, _ status: HTTPResponseStatus) throws(Problem) -> Response {
        let entry = table.read(try name(request))
        let fields = try CacheFields(request)
        var response = Problem(status, "this response was requested").response
        response.headers.add(contentsOf: fields.headers)
        if fields.headers.isEmpty { response.headers.add(name: "Cache-Control", value: "max-age=60") }
        response.headers.add(name: "Demo-Read", value: String(entry.reads))
        response.date = fields.date
        return response
    }

    /// The query parameters, for the server's index.
    static let parameters: JSON = [
        "GET /cache/{name}": [
            "control": "Cache-Control, verbatim; repeatable",
            "expires": "seconds from Date, or garbage",
            "age": "Age, verbatim",
            "date": "seconds from now, or none",
            "modified": "Last-Modified: seconds before the name's last change",
            "etag": "none, strong or weak",
            "vary": "field names, comma-separated, or *; the body contains their values",
            "field": "Name:value, verbatim; repeatable",
            "status": "200 to 599",
            "length": "of the body, at most 67108864; its last line is its checksum",
            "seed": "a number that selects a different body",
            "gzip": "1: for clients that accept it",
            "chunked": "1: without Content-Length",
            "cut": "bytes of the body after which the connection is closed",
            "delay": "seconds, at most 60",
            "fail": "the n-th read and all later ones fail",
            "failure": "503, 500, 502, 504, 404 or drop",
            "private-to": "user: any identified user; or the name of the only user",
        ],
        "POST, PUT, PATCH, DELETE /cache/{name}": [
            "status": "200 to 599; from 400 on, nothing is changed",
            "location": "Location, verbatim",
            "content-location": "Content-Location, verbatim",
        ],
        "ANY /cache/{name}/redirect": [
            "to": "Location, verbatim; the default is the name",
            "status": "302, 301, 303, 307 or 308; fields as above",
        ],
        "ANY /cache/{name}/clear": ["types": "of Clear-Site-Data: cache, cookies, storage, executionContexts, *"],
        "GET /cache/{name}/missing, /cache/{name}/gone": ["control": "max-age=60 by default; fields as above"],
    ]

    private func name(_ request: Request) throws(Problem) -> String {
        let name = request.parameters["name"] ?? ""
        guard (1...100).contains(name.utf8.count) else {
            throw Problem(.notFound, "{name} must have 1 to 100 bytes")
        }
        return name
    }

    private func locations(_ request: Request) throws(Problem) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for (parameter, field) in [("location", "Location"), ("content-location", "Content-Location")] {
            if let value = try CacheFields.value(request, parameter) { headers.add(name: field, value: value) }
        }
        return headers
    }
}
