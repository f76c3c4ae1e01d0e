import NIOCore
import NIOHTTP1

/// A request as passed to a handler.
struct Request {
    let head: HTTPRequestHead
    var target: Target
    /// The values of the path parameters of the route's template, by name.
    let parameters: [String: String]
    let origin: RequestOrigin
    /// The body. Complete when the handler of a buffered route runs; empty for a streamed route.
    var body = ByteBuffer()

    /// The number of the connection, counted from 1 in the order of acceptance.
    var connection: Int { origin.connection }
    /// The number of the request on its connection, from 1.
    var numberOnConnection: Int { origin.numberOnConnection }

    // MARK: Query and path

    /// The path as received, without the query.
    var path: String { String(head.uri.prefix { $0 != "?" }) }

    /// The first value with this name.
    func query(_ name: String) -> String? {
        target.query.first { $0.name == name }?.value
    }

    func queryValues(_ name: String) -> [String] {
        target.query.filter { $0.name == name }.map(\.value)
    }

    /// Returns an integer from the query, or `fallback` if the parameter is absent.
    func query(_ name: String, in range: ClosedRange<Int>, or fallback: Int) throws(Problem) -> Int {
        try query(name, in: range) ?? fallback
    }

    /// Returns an integer from the query. Nil if the parameter is absent.
    func query(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = query(name) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw Problem.query(name, "must be a whole number between \(range.lowerBound) and \(range.upperBound)")
        }
        return value
    }

    /// Returns a duration from the query, or `fallback` if the parameter is absent. Both are in seconds.
    func queryDuration(_ name: String, atMost maximum: Double, or fallback: Double) throws(Problem) -> TimeAmount {
        guard let text = query(name) else { return TimeAmount(seconds: fallback) }
        guard let duration = TimeAmount(secondsText: text, atMost: maximum) else {
            throw Problem.query(name, "must be a number of seconds between 0 and \(maximum)")
        }
        return duration
    }

    /// Returns the value of a parameter, which must be one of `choices`. The first choice is the default.
    func query(_ name: String, oneOf choices: [String]) throws(Problem) -> String {
        let text = query(name) ?? choices.first ?? ""
        guard choices.contains(text) else {
            throw Problem.query(name, "must be one of \(choices.joined(separator: ", "))")
        }
        return text
    }

    /// Returns an integer from the path. Throws 404 for any other value, because there is no resource at that path.
    func parameter(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int {
        let text = parameters[name] ?? ""
        guard let value = Int(text), range.contains(value) else {
            throw Problem(
                .notFound, "{\(name)} must be a whole number between \(range.lowerBound) and \(range.upperBound)")
        }
        return value
    }

    /// Returns the identifier in the path.
    func id(of what: String, parameter: String = "id") throws(Problem) -> Int {
        let text = parameters[parameter] ?? ""
        guard let id = Int(text) else { throw Problem.notFound(what, "\"\(text)\"") }
        return id
    }

    // MARK: Body

    /// Returns the body as a JSON object.
    ///
    /// - Throws: 415 if the content type is not one of `types`, 400 if the body is not a JSON object.
    func jsonObject(types: [String] = ["application/json"]) throws(Problem) -> JSON {
        let type = head.headers.first(name: "content-type") ?? ""
        let essence = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }.lowercased()
        guard types.contains(essence) else {
            let accepted = types.joined(separator: ", ")
            let given = type.isEmpty ? "there is no Content-Type" : "\"\(type)\" is not supported"
            let field = head.method == .PATCH ? "Accept-Patch" : "Accept-Post"
            throw Problem(.unsupportedMediaType, "\(given); send \(accepted)", headers: [field: accepted])
        }
        let document: JSON
        do {
            document = try JSON(parsing: Array(body.readableBytesView))
        } catch {
            throw Problem(.badRequest, "the body is not JSON: \(error.reason)")
        }
        guard case .object = document else {
            throw Problem(.badRequest, "the body must be a JSON object, not \(document.kind)")
        }
        return document
    }
}

extension HTTPRequestHead {
    /// True if the client supports chunked coding, interim responses and persistent connections, which HTTP/1.0 lacks.
    var supportsHTTP11: Bool { version.major > 1 || version.minor >= 1 }

    /// The version as text, such as `1.1` or `2`.
    var versionText: String { version.major > 1 ? "\(version.major)" : "\(version.major).\(version.minor)" }
}

extension TimeAmount {
    /// - Parameter seconds: up to about 290 years. If it is larger or not a number, the amount is zero.
    init(seconds: Double) {
        self = .nanoseconds(Int64(exactly: (seconds * 1e9).rounded()) ?? 0)
    }

    /// Parses a decimal number of seconds. Nil if the text is not a number, or if the number is negative or above
    /// `maximum`.
    init?(secondsText text: String, atMost maximum: Double) {
        guard let seconds = Double(text), seconds >= 0, seconds <= maximum else { return nil }
        self.init(seconds: seconds)
    }
}
