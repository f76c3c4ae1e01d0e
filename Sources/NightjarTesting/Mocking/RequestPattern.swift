/// Which requests a route is for. What is not named may be anything.
public struct RequestPattern: Sendable {
    /// What is wanted of a header, an item of the query or of a form.
    public enum Wanted: Sendable, Equatable {
        /// The first of that name has this value.
        case value(String)
        /// All of that name, in their order.
        case values([String])
        case present
        case absent
    }

    /// What is wanted of the body.
    public enum Body: Sendable {
        /// To the byte.
        case text(String)
        /// JSON that has all that this has.
        case json(JSONValue)
        /// A form that has these items.
        case form([(name: String, wanted: Wanted)])
    }

    public var method: Method?
    public var path: PathPattern?
    public var query: [(name: String, wanted: Wanted)] = []
    public var headers: [(name: String, wanted: Wanted)] = []
    public var body: Body?

    public init(_ method: Method? = nil, _ path: PathPattern? = nil) {
        self.method = method
        self.path = path
    }

    /// - Parameter base: that of the client, see ``PathPattern/match(_:base:)``.
    func match(
        _ request: ArrivedRequest, base: RequestURL?
    ) -> Result<[(name: String, value: String)], MismatchError> {
        var parameters: [(name: String, value: String)] = []
        if let path {
            guard let values = path.match(request.url, base: base) else {
                return .failure(MismatchError(0, "its path is \(quoted(path.description))"))
            }
            parameters = values
        }
        if let method, method != request.method { return .failure(MismatchError(1, "its method is \(method)")) }
        let items = request.query
        for (name, wanted) in query {
            if let reason = RequestPattern.reason(wanted, items.filter { $0.name.isExactly(name) }.map(\.value)) {
                return .failure(MismatchError(2, "it wants the query item \(quoted(name)) \(reason)"))
            }
        }
        for (name, wanted) in headers {
            if let reason = RequestPattern.reason(wanted, request.headers.values(name), showsFound: false) {
                return .failure(MismatchError(3, "it wants the header \(quoted(name)) \(reason)"))
            }
        }
        if let reason = bodyReason(request) { return .failure(MismatchError(4, reason)) }
        return .success(parameters)
    }

    private func bodyReason(_ request: ArrivedRequest) -> String? {
        switch body {
        case nil: return nil
        case .text(let text):
            return request.body.readableBytesView.elementsEqual(text.utf8) ? nil : "its body is another"
        case .json(let wanted):
            guard let json = request.json else { return "its body is JSON, and the request's is not" }
            guard let place = wanted.firstDifference(from: json) else { return nil }
            let path = place.description
            return path.isEmpty ? "the JSON of its body is another" : "the JSON of its body differs at \(quoted(path))"
        case .form(let items):
            let found = request.form
            for (name, wanted) in items {
                if RequestPattern.reason(wanted, found.filter { $0.name.isExactly(name) }.map(\.value)) != nil {
                    return "the item \(quoted(name)) of its form is another"
                }
            }
            return nil
        }
    }

    /// - Parameter showsFound: false for what may be a secret.
    /// - Returns: nil where it is as wanted.
    private static func reason(_ wanted: Wanted, _ found: [String], showsFound: Bool = true) -> String? {
        let had = found.isEmpty ? "and there is none" : "and it is another"
        switch wanted {
        case .value(let value):
            return found.first.map { $0.isExactly(value) } == true
                ? nil : showsFound ? "to be \(quoted(value)), \(had)" : had
        case .values(let values): return found.elementsEqual(values) { $0.isExactly($1) } ? nil : had
        case .present: return found.isEmpty ? "and there is none" : nil
        case .absent: return found.isEmpty ? nil : "not to be there"
        }
    }

    /// `GET /articles/{id}`, for messages.
    public var summary: String {
        let parts = [method?.name, path?.description].compactMap { $0 }
        return parts.isEmpty ? "any request" : parts.joined(separator: " ")
    }
}

/// Why a request is not one that a pattern is for.
struct MismatchError: Error {
    /// What came up: 0 the path, 1 the method, 2 the query, 3 a header, 4 the body. The higher, the nearer.
    let step: Int
    let reason: String

    init(_ step: Int, _ reason: String) {
        self.step = step
        self.reason = reason
    }
}
