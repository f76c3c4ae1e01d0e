import NIOHTTP1

/// An error response as defined by RFC 9457, `application/problem+json`.
struct Problem: Error {
    /// The place of an invalid value, and the reason why it is invalid.
    struct Fault {
        enum Place {
            /// A JSON Pointer (RFC 6901) into the request's body.
            case body(pointer: String)
            case query(name: String)
        }

        let place: Place
        let detail: String
    }

    let status: HTTPResponseStatus
    let detail: String
    var faults: [Fault] = []
    var headers: HTTPHeaders = [:]
    /// The URI of the type. The default depends on ``faults``.
    var type: String?
    /// Further members of the document (RFC 9457 section 3.2).
    var members: [JSON.Member] = []

    init(_ status: HTTPResponseStatus, _ detail: String, headers: HTTPHeaders = [:]) {
        self.status = status
        self.detail = detail
        self.headers = headers
    }

    /// Returns a 422: the body is well-formed but has invalid values.
    static func invalid(_ faults: [Fault]) -> Problem {
        let fields = faults.count == 1 ? "1 field is" : "\(faults.count) fields are"
        var problem = Problem(.unprocessableEntity, "\(fields) not valid")
        problem.faults = faults
        return problem
    }

    /// Returns a 400: a query parameter is invalid.
    static func query(_ name: String, _ detail: String) -> Problem {
        var problem = Problem(.badRequest, "the query parameter \"\(name)\" \(detail)")
        problem.faults = [Fault(place: .query(name: name), detail: detail)]
        return problem
    }

    static func notFound(_ what: String, _ id: some CustomStringConvertible) -> Problem {
        Problem(.notFound, "there is no \(what) \(id)")
    }

    var response: Response {
        var members: [JSON.Member] = [
            .init(name: "type", value: .string(type ?? (faults.isEmpty ? "about:blank" : Problem.validationType))),
            .init(name: "title", value: .string(status.reasonPhrase)),
            .init(name: "status", value: .int(Int(status.code))),
            .init(name: "detail", value: .string(detail)),
        ]
        if !faults.isEmpty {
            members.append(.init(name: "errors", value: .array(faults.map(\.json))))
        }
        members += self.members
        var response = Response.json(.object(members), status: status, type: "application/problem+json")
        for (name, value) in headers { response.headers.add(name: name, value: value) }
        return response
    }

    /// An identifier that cannot be dereferenced. RFC 9457 section 3.1.1 allows any URI.
    private static let validationType = "tag:nightjar.example,2026:problems/validation"
}

extension Problem.Fault {
    fileprivate var json: JSON {
        switch place {
        case .body(let pointer): ["pointer": .string(pointer), "detail": .string(detail)]
        case .query(let name): ["parameter": .string(name), "detail": .string(detail)]
        }
    }
}
