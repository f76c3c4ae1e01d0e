import NightjarHTTP

/// The requests that a route matches. A property that is not set matches anything.
public struct RequestPattern: Sendable {
    /// The condition for a header field, a query item or a form item.
    public enum ExpectedValue: Sendable, Equatable {
        /// The first item with this name has this value.
        case value(String)
        /// All items with this name have these values, in order.
        case values([String])
        case present
        case absent
    }

    /// The condition for the body.
    public enum Body: Sendable {
        /// A body equal to this text, byte for byte.
        case text(String)
        /// JSON that contains this value. See ``JSONValue/firstDifference(from:)``.
        case json(JSONValue)
        /// A form that contains these items.
        case form([(name: String, expected: ExpectedValue)])
    }

    public var method: Method?
    package var path: PathPattern?
    public var query: [(name: String, expected: ExpectedValue)] = []
    public var headers: [(name: String, expected: ExpectedValue)] = []
    public var body: Body?

    /// Creates a pattern for the requests to a path.
    ///
    /// - Parameter path: the path as in ``MockRoute``: `/users/{id}`.
    /// - Throws: `invalid_argument` or `invalid_url` if the path is invalid.
    public init(_ method: Method? = nil, path: String) throws(NightjarError) {
        self.init(method, try PathPattern(path))
    }

    /// Creates a pattern for requests with this method to any path, or for all requests.
    public init(_ method: Method? = nil) { self.method = method }

    package init(_ method: Method?, _ path: PathPattern?) {
        self.method = method
        self.path = path
    }

    /// Compares a request with the pattern. Returns the values of the path parameters.
    ///
    /// - Parameter base: the client's base URL. See ``PathPattern/match(_:base:)``.
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
        for (name, expected) in query {
            if let reason = RequestPattern.reason(expected, items.filter { $0.name.isExactly(name) }.map(\.value)) {
                return .failure(MismatchError(2, "the query item \(quoted(name)) \(reason)"))
            }
        }
        for (name, expected) in headers {
            if let reason = RequestPattern.reason(expected, request.headers.values(name), showsFound: false) {
                return .failure(MismatchError(3, "the header \(quoted(name)) \(reason)"))
            }
        }
        if let reason = bodyReason(request) { return .failure(MismatchError(4, reason)) }
        return .success(parameters)
    }

    private func bodyReason(_ request: ArrivedRequest) -> String? {
        switch body {
        case nil: return nil
        case .text(let text):
            return request.body.readableBytesView.elementsEqual(text.utf8) ? nil : "its body differs from the request's"
        case .json(let expected):
            guard let json = request.json else { return "its body is JSON but the request's is not" }
            guard let place = expected.firstDifference(from: json) else { return nil }
            let path = place.description
            return path.isEmpty ? "its JSON body differs" : "its JSON body differs at \(quoted(path))"
        case .form(let items):
            let found = request.form
            for (name, expected) in items {
                if RequestPattern.reason(expected, found.filter { $0.name.isExactly(name) }.map(\.value)) != nil {
                    return "the form item \(quoted(name)) differs"
                }
            }
            return nil
        }
    }

    /// Returns the reason why the values do not meet the condition.
    ///
    /// - Parameter showsFound: false for values that may be secret.
    /// - Returns: nil if the condition is met.
    private static func reason(_ expected: ExpectedValue, _ found: [String], showsFound: Bool = true) -> String? {
        let had = found.isEmpty ? "is missing" : "differs"
        switch expected {
        case .value(let value):
            return found.first.map { $0.isExactly(value) } == true
                ? nil : showsFound ? "must be \(quoted(value)) but \(had)" : had
        case .values(let values): return found.elementsEqual(values) { $0.isExactly($1) } ? nil : had
        case .present: return found.isEmpty ? "is missing" : nil
        case .absent: return found.isEmpty ? nil : "must be absent"
        }
    }

    /// The pattern in messages: `GET /articles/{id}`.
    public var summary: String {
        let parts = [method?.name, path?.description].compactMap { $0 }
        return parts.isEmpty ? "any request" : parts.joined(separator: " ")
    }
}

/// The reason why a request does not match a pattern.
struct MismatchError: Error {
    /// The part that does not match: 0 the path, 1 the method, 2 the query, 3 a header, 4 the body, 5 the number of
    /// uses. Parts are compared in this order, so a higher step means a closer match.
    let step: Int
    let reason: String

    init(_ step: Int, _ reason: String) {
        self.step = step
        self.reason = reason
    }
}
