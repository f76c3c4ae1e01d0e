import NIOHTTP1

/// An operation of the API description (OpenAPI 3.1 section 4.8.10).
///
///     DescribedOperation(.GET, "/v1/articles/{id}", "get_article", "An article").responds(.reference("Article"))
///
/// Each method returns a copy with one more property. Each operation has one error response for all statuses: a problem
/// or an OAuth error.
struct DescribedOperation {
    let method: HTTPMethod
    /// The path template of the route. Segments in braces are parameters.
    let path: String
    let id: String
    private let summary: String
    private var details: String?
    private var parameters: [JSON]
    private var body: JSON?
    private var responses: [JSON.Member] = []
    private var security: JSON?
    private var isDeprecated = false
    private var pagination: JSON?
    private var failure = "Problem"

    /// - Parameters:
    ///   - id: the operationId.
    ///   - exampleID: an identifier that exists initially.
    init(_ method: HTTPMethod, _ path: String, _ id: String, _ summary: String, exampleID: Int = 1) {
        self.method = method
        self.path = path
        self.id = id
        self.summary = summary
        let names = path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
        parameters = names.map { name in
            let isNumber = name == "id"
            return [
                "name": .string(name), "in": "path", "required": .bool(true),
                "schema": isNumber ? Schema.id : Schema.text(1...100), "example": isNumber ? .int(exampleID) : "birds",
            ]
        }
    }

    // MARK: Request

    func query(
        _ name: String, _ schema: JSON, _ about: String, example: JSON? = nil, isRequired: Bool = false
    ) -> DescribedOperation {
        parameter(name, "query", schema, about, example, [.init(name: "required", value: .bool(isRequired))])
    }

    /// Adds a query parameter with comma-separated elements.
    func joinedQuery(_ name: String, _ elements: JSON, atMost maximum: Int, _ about: String) -> DescribedOperation {
        let schema = Schema.list(of: elements, atMost: maximum)
        return parameter(name, "query", schema, about, nil, [.init(name: "explode", value: .bool(false))])
    }

    func header(_ name: String, _ schema: JSON, _ about: String, example: JSON? = nil) -> DescribedOperation {
        parameter(name, "header", schema, about, example, [])
    }

    private func parameter(
        _ name: String, _ place: String, _ schema: JSON, _ about: String, _ example: JSON?, _ rules: [JSON.Member]
    ) -> DescribedOperation {
        var members: [JSON.Member] = [
            .init(name: "name", value: .string(name)), .init(name: "in", value: .string(place)),
        ]
        members += rules + [.init(name: "description", value: .string(about)), .init(name: "schema", value: schema)]
        if let example { members.append(.init(name: "example", value: example)) }
        return changed { $0.parameters.append(.object(members)) }
    }

    /// Adds `page`, `per_page` and `sort`, the parameters of all lists of articles, users and comments.
    func paged(sortedBy keys: String...) -> DescribedOperation {
        let choices = (["id"] + keys).flatMap { [$0, "-\($0)"] }
        return query("page", Schema.integer(1...1_000_000), "The number of the page.", example: .int(1))
            .query(
                "per_page", Schema.integer(Page.sizes),
                "The number of results per page. The default is \(Page.defaultSize)."
            )
            .query(
                "sort", ["type": "string", "enum": .array(choices.map(JSON.string))],
                "The sort key, prefixed with - for descending order."
            )
            .pages([
                "style": "page", "items": "/results", "key": "/id", "total": "/total", "param": "page",
                "size_param": "per_page",
            ])
    }

    /// - Parameter types: the content types, in order of preference. The default is `application/json`.
    func takes(_ schema: JSON, as types: String..., example: JSON? = nil, isRequired: Bool = true) -> DescribedOperation
    {
        var media: [JSON.Member] = [.init(name: "schema", value: schema)]
        if let example { media.append(.init(name: "example", value: example)) }
        let types = types.isEmpty ? ["application/json"] : types
        return changed {
            $0.body = [
                "required": .bool(isRequired),
                "content": .object(types.map { .init(name: $0, value: .object(media)) }),
            ]
        }
    }

    /// Sets the body to a multipart form.
    ///
    /// - Parameter types: the content types of the parts, by name.
    func takesParts(_ schema: JSON, types: KeyValuePairs<String, String>) -> DescribedOperation {
        let encoding = types.map { JSON.Member(name: $0.key, value: ["contentType": .string($0.value)]) }
        return changed {
            $0.body = [
                "required": .bool(true),
                "content": ["multipart/form-data": ["schema": schema, "encoding": .object(encoding)]],
            ]
        }
    }

    // MARK: Responses

    func responds(_ schema: JSON, status: Int = 200, as type: String = "application/json", _ about: String = "Done.")
        -> DescribedOperation
    {
        respond(
            status, ["description": .string(about), "content": .object([.init(name: type, value: ["schema": schema])])])
    }

    func respondsWithoutContent(_ status: Int = 204, _ about: String = "Done.") -> DescribedOperation {
        respond(status, ["description": .string(about)])
    }

    private func respond(_ status: Int, _ response: JSON) -> DescribedOperation {
        changed { $0.responses.append(.init(name: String(status), value: response)) }
    }

    /// Gives the error responses the form of OAuth errors (RFC 6749 section 5.2).
    func failsAsOAuth() -> DescribedOperation { changed { $0.failure = "OAuthError" } }

    // MARK: Other properties

    /// Sets the description, in CommonMark.
    func explained(_ text: String) -> DescribedOperation { changed { $0.details = text } }

    /// Sets the alternative security schemes. Without arguments, the operation needs no authentication.
    func secured(by schemes: String...) -> DescribedOperation {
        changed { operation in
            operation.security = .array(schemes.map { .object([.init(name: $0, value: [])]) })
        }
    }

    func deprecated() -> DescribedOperation { changed { $0.isDeprecated = true } }

    /// Sets the extension `x-nightjar-pagination`.
    func pages(_ pagination: JSON) -> DescribedOperation { changed { $0.pagination = pagination } }

    private func changed(_ change: (inout DescribedOperation) -> Void) -> DescribedOperation {
        var operation = self
        change(&operation)
        return operation
    }

    // MARK: The document

    func json(tag: String) -> JSON {
        var members: [JSON.Member] = [
            .init(name: "operationId", value: .string(id)), .init(name: "tags", value: [.string(tag)]),
            .init(name: "summary", value: .string(summary)),
        ]
        func add(_ name: String, _ value: JSON?) {
            if let value { members.append(.init(name: name, value: value)) }
        }
        add("description", details.map(JSON.string))
        add("deprecated", isDeprecated ? .bool(true) : nil)
        add("parameters", parameters.isEmpty ? nil : .array(parameters))
        add("requestBody", body)
        let failure: JSON = ["$ref": .string("#/components/responses/\(failure)")]
        add("responses", .object(responses + [.init(name: "default", value: failure)]))
        add("security", security)
        add("x-nightjar-pagination", pagination)
        return .object(members)
    }
}
