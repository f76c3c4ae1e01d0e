import Nightjar
import NightjarAPI
import Testing

@testable import NightjarHTTP

@Suite struct EndpointOptionsTests {
    private func operation(_ json: String) throws -> NightjarAPI.Operation {
        try Operation(options: JSONValue(parsing: json), name: "article")
    }

    private func rejection(_ json: String) -> String {
        do {
            _ = try operation(json)
            return "taken"
        } catch {
            return (error as? NightjarError)?.message ?? "\(error)"
        }
    }

    @Test func everyOptionIsRead() throws {
        let article = try operation(
            """
            {"path": "/articles/{id}", "method": "PUT", "server": "http://files.test",
             "parameters": {"id": "integer", "page": {"type": "integer", "default": 1, "minimum": 1},
               "X-Trace": {"in": "header", "required": true, "documentation": "which call", "deprecated": true},
               "fields": {"type": "array", "items": {"type": "string"}, "style": "pipeDelimited"},
               "tags": {"explode": false, "allow_reserved": true, "example": "a"}, "anything": true},
             "body": {"type": "object", "required": ["title"]}, "response": "object", "response_validation": "warn",
             "requires_auth": false, "idempotent": true, "cache": "reload", "timeout": 3,
             "pagination": {"style": "cursor", "items": "/results", "next": "/next", "key": "/id", "max_pages": 5},
             "summary": "One article", "documentation": "Gives it.", "deprecated": true, "tags": ["articles"]}
            """)
        #expect(article.name == "article")
        #expect(article.path == "/articles/{id}")
        #expect(article.method == .put)
        #expect(article.server == "http://files.test")
        #expect(article.parameters.map(\.name) == ["id", "page", "X-Trace", "fields", "tags", "anything"])
        #expect(article.parameters.map(\.place) == [.path, .query, .header, .query, .query, .query])
        #expect(article.parameters.map(\.isRequired) == [true, false, true, false, false, false])
        #expect(article.parameters[1].defaultValue == .integer(1))
        #expect(article.parameters[2].documentation == "which call")
        #expect(article.parameters[2].isDeprecated)
        #expect(article.parameters[3].style == .pipeDelimited)
        #expect(!article.parameters[3].explodes)
        #expect(article.parameters[4].style == .form)
        #expect(!article.parameters[4].explodes)
        #expect(article.parameters[4].allowsReserved)
        #expect(article.parameters[4].example == "a")
        #expect(article.parameters[5].schema == nil)
        #expect(article.content?.isRequired == true)
        #expect(article.content?.choices.map(\.mediaType) == ["application/json"])
        #expect(article.responses.count == 1)
        #expect(article.responseValidation == .warn)
        #expect(article.requiresAuth == false)
        #expect(article.isIdempotent)
        #expect(article.cachePolicy == .reload)
        #expect(article.timeouts.total == .seconds(3))
        #expect(article.pagination?.style == .cursor)
        #expect(article.pagination?.items?.description == "/results")
        #expect(article.pagination?.maximumPages == 5)
        #expect(article.summary == "One article")
        #expect(article.documentation == "Gives it.")
        #expect(article.isDeprecated)
        #expect(article.tags == ["articles"])
    }

    @Test func bodyMayHaveItsOwnType() throws {
        let form = try operation(
            """
            {"path": "/a", "body": {"schema": {"type": "object"}, "required": false,
             "content_type": ["application/x-www-form-urlencoded", "application/json"]}}
            """)
        #expect(form.content?.choices.map(\.mediaType) == ["application/x-www-form-urlencoded", "application/json"])
        #expect(form.content?.isRequired == false)
        #expect(try operation(#"{"path": "/a", "body": true}"#).content?.isRequired == false)
        #expect(try operation(#"{"path": "/a", "body": false}"#).content == nil)
    }

    @Test func validationModesAreRead() throws {
        let article = try operation(
            #"{"path": "/articles/{id}", "parameters": {"id": "integer", "page": {"type": "integer", "maximum": 9}}}"#)
        #expect(try article.request(["id": 42]).target == "/articles/42")
        let error = #expect(throws: NightjarError.self) { try article.request(["id": 42, "page": 10]) }
        #expect(
            error?.message
                == #"endpoint "article": parameter "page" must be a number of at most 9, found a larger one"#)
    }

    @Test(arguments: [
        (#"{}"#, #"option "article.path" is missing"#),
        (#"{"path": ""}"#, #"option "article.path" is missing"#),
        (#"{"path": 1}"#, #"option "article.path" must be a string, found an integer"#),
        (#"{"path": "/a", "metod": "GET"}"#, #"unknown option "article.metod"; did you mean "method"?"#),
        (
            #"{"path": "/a", "method": "G T"}"#,
            #"option "article.method" is "G T", which is not a valid method"#
        ),
        (
            #"{"path": "/a", "parameters": {"page": {"tpye": "integer"}}}"#,
            #"unknown option "article.parameters.page.tpye"; did you mean "type"?"#
        ),
        (
            #"{"path": "/a", "parameters": {"id": {"in": "path"}}}"#,
            #"option "article.parameters.id" is a path parameter, but the path has no {id}: "/a""#
        ),
        (
            #"{"path": "/a", "parameters": {"id": {"in": "body"}}}"#,
            #"option "article.parameters.id.in" is "body"; it must be one of "path", "query", "header", "cookie""#
        ),
        (
            #"{"path": "/a", "parameters": {"page": {"type": "integer", "default": "x"}}}"#,
            #"option "article.parameters.page.default" must be an integer, found a string"#
        ),
        (
            #"{"path": "/a", "pagination": {"stile": "page"}}"#,
            #"unknown option "article.pagination.stile"; did you mean "style"?"#
        ),
        (
            #"{"path": "/a", "body": {"schema": {}, "content_type": "json"}}"#,
            #"option "article.body.content_type" is "json"; it must be a media type, for example application/json"#
        ),
        (#"[]"#, #"option "article" must be a table of options, found an array"#),
    ])
    func invalidOptionIsReportedWithItsPath(json: String, message: String) {
        #expect(rejection(json) == message)
    }

    @Test func catalogIsATableOfEndpoints() throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"endpoints": {"ping": {"path": "/ping"}, "home": {"path": "/"}}}"#)
        #expect(configuration.catalog?.operations.map(\.name) == ["ping", "home"])
        let error = #expect(throws: NightjarError.self) {
            try configuration.merge(json: #"{"endpoints": {"ping": {"pth": "/ping"}}}"#)
        }
        #expect(error?.message == #"option "endpoints.ping.path" is missing"#)
    }

    @Test func paginationIsReadByItself() throws {
        var pages = try Pagination(options: "link")
        #expect(pages.style == .link)
        try pages.merge(json: #"{"prefetch": 0, "allow_origins": ["http://a.test"], "size": 50, "size_param": "n"}"#)
        #expect(pages.style == .link)
        #expect(pages.prefetch == 0)
        #expect(pages.allowedOrigins == ["http://a.test"])
        #expect(pages.size == 50)
        #expect(pages.sizeParameter == "n")
        let error = #expect(throws: NightjarError.self) { try pages.merge(json: #"{"items": "results"}"#) }
        #expect(
            error?.message
                == #"option "items": the JSON Pointer "results" must be empty or begin with /, as in "/items/0""#)
        #expect(try Pagination(options: true).style == .guess)
    }
}
