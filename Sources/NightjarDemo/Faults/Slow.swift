/// `/v1/slow`: responds after `ms` milliseconds. `/__stats` counts requests in flight separately for each `key`.
enum Slow {
    static func respond(_ request: Request) throws(Problem) -> Response {
        let milliseconds = try request.query("ms", in: 0...60_000, or: 200)
        var response = Response.json(["ms": .int(milliseconds), "key": .optional(request.query("key"))])
        response.delay = .milliseconds(Int64(milliseconds))
        return response
    }
}
