import NIOCore
import NIOHTTP1

/// The API's OpenAPI 3.1 description, at `/openapi.json` and `/openapi.yaml`.
///
/// The description may be cached for `max_age` seconds, 60 by default. It has an ETag and can be revalidated.
enum APIDescription {
    private static let defaultLifetime = 60
    private static let yearInSeconds = 31_536_000

    private static let groups: [(tag: String, about: String, operations: [DescribedOperation])] = [
        ("articles", "Articles.", articles),
        ("users", "Users and their avatars.", users),
        ("comments", "Comments on articles.", comments),
        ("logins", "Authentication by password, key or token.", logins),
        ("oauth", "OAuth 2 endpoints.", oauth),
        ("orders", "Orders, to test that writes are neither lost nor duplicated.", orders),
        ("lists", "Lists of any size, in all pagination styles.", lists),
        ("practice", "Responses that are delayed or fail on request.", practice),
    ]

    static func add(to router: inout Router) {
        router.on(.GET, "/openapi.json") { request throws(Problem) in
            try respond(request, document.formatted(), "application/json")
        }
        router.on(.GET, "/openapi.yaml") { request throws(Problem) in
            try respond(request, Array(document.yaml.utf8), "application/yaml")
        }
    }

    private static func respond(_ request: Request, _ bytes: [UInt8], _ type: String) throws(Problem) -> Response {
        let lifetime = try request.query("max_age", in: 0...yearInSeconds, or: defaultLifetime)
        return try Representation(
            headers: ["Content-Type": type, "Cache-Control": "public, max-age=\(lifetime)"],
            content: ByteBuffer(bytes: bytes), tag: EntityTag(of: bytes)
        ).respond(request)
    }

    // MARK: The document

    /// Constant while the server runs.
    private static let document: JSON =
        [
            "openapi": "3.1.0",
            "info": [
                "title": "Nightjar demo API", "version": "1.0.0",
                "description": "Articles, users and comments, and the situations that an API client must handle.",
            ],
            // The URL is relative to the document, so that it is valid for any port.
            "servers": [["url": "/", "description": "This server"]],
            "tags": .array(groups.map { ["name": .string($0.tag), "description": .string($0.about)] }),
            "paths": paths,
            "components": [
                "schemas": .object(DescribedSchemas.all.map { .init(name: $0.key, value: $0.value) }),
                "responses": [
                    "Problem": failure("An error (RFC 9457).", "Problem", as: "application/problem+json"),
                    "OAuthError": failure("An error (RFC 6749).", "OAuthError", as: "application/json"),
                ],
                "securitySchemes": securitySchemes,
            ],
        ]

    /// The operations grouped by path, in the order of the groups.
    private static var paths: JSON {
        var order: [String] = []
        var operations: [String: [JSON.Member]] = [:]
        for group in groups {
            for operation in group.operations {
                if operations[operation.path] == nil { order.append(operation.path) }
                operations[operation.path, default: []].append(
                    .init(name: operation.method.rawValue.lowercased(), value: operation.json(tag: group.tag)))
            }
        }
        return .object(order.map { .init(name: $0, value: .object(operations[$0] ?? [])) })
    }

    private static func failure(_ about: String, _ name: String, as type: String) -> JSON {
        [
            "description": .string(about),
            "content": .object([.init(name: type, value: ["schema": Schema.reference(name)])]),
        ]
    }

    private static var securitySchemes: JSON {
        [
            "bearer": ["type": "http", "scheme": "bearer", "description": "The access_token of login."],
            "basic": ["type": "http", "scheme": "basic"],
            "digest": ["type": "http", "scheme": "digest"],
            "api_key": ["type": "apiKey", "in": "header", "name": "X-Api-Key"],
            "api_key_in_query": ["type": "apiKey", "in": "query", "name": "api_key"],
            "oauth2": [
                "type": "oauth2",
                "flows": [
                    "clientCredentials": ["tokenUrl": "/v1/oauth/token", "scopes": [:]],
                    "authorizationCode": [
                        "authorizationUrl": "/v1/oauth/authorize", "tokenUrl": "/v1/oauth/token",
                        "refreshUrl": "/v1/oauth/token", "scopes": [:],
                    ],
                ],
            ],
        ]
    }
}
