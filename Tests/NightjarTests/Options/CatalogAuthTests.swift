import NightjarAPI
import NightjarHTTP
import Testing

@testable import Nightjar

@Suite struct CatalogAuthTests {
    private func catalog(_ schemes: [SecurityScheme]) -> Catalog {
        var catalog = Catalog()
        catalog.security = schemes
        return catalog
    }

    private let oauth = SecurityScheme(
        "OAuth",
        .oauth2(
            flow: .clientCredentials, authorizationURL: nil, tokenURL: "https://a.test/token",
            scopes: [(name: "read", documentation: "")]))
    private let key = SecurityScheme("ApiKey", .apiKey(name: "X-Key", place: .header))
    private let bearer = SecurityScheme("Token", .bearer)

    private func rejection(_ catalog: Catalog, _ given: JSONValue) -> String {
        do {
            return "taken: \(try catalog.authOptions(given))"
        } catch {
            return error.message
        }
    }

    @Test func singleSchemeDeterminesTheLocationOfCredentials() throws {
        #expect(
            try catalog([bearer]).authOptions(["token": "t"]) == ["token": "t", "type": "bearer"])
        #expect(
            try catalog([key]).authOptions(["key": "k"]) == ["key": "k", "type": "api_key", "header": "X-Key"])
        #expect(
            try catalog([SecurityScheme("Q", .apiKey(name: "k", place: .query))]).authOptions(["key": "v"])
                == ["key": "v", "type": "api_key", "query": "k"])
        #expect(
            try catalog([SecurityScheme("C", .apiKey(name: "sid", place: .cookie))]).authOptions(["key": "v"])
                == ["key": "v", "type": "api_key", "cookie": "sid"])
        #expect(
            try catalog([oauth]).authOptions(["client_id": "i", "client_secret": "s"])
                == [
                    "client_id": "i", "client_secret": "s", "type": "oauth2", "token_url": "https://a.test/token",
                    "grant": "client_credentials",
                ])
    }

    /// A description that was modified in transit must not cause the client's secret to be sent unencrypted.
    @Test func descriptionCannotSendSecretsWithoutTLS() throws {
        func scheme(_ url: String) -> Catalog {
            catalog([
                SecurityScheme(
                    "OAuth", .oauth2(flow: .clientCredentials, authorizationURL: nil, tokenURL: url, scopes: []))
            ])
        }
        let given: JSONValue = ["client_id": "i", "client_secret": "s"]
        #expect(
            rejection(scheme("http://a.test/token?client_secret=x"), given)
                == #"the security scheme "OAuth" sends its secrets to "http://a.test" without TLS; set token_url "#
                + #"(and "#
                + "authorize_url) if this is intended")
        #expect(rejection(scheme("http://127.0.0.1.evil.test/"), given).contains("without TLS"))
        for own in ["http://127.0.0.1:80/t", "http://localhost:8080/t", "http://[::1]/t", "https://a.test/t"] {
            #expect(try scheme(own).authOptions(given)["token_url"] == .string(own))
        }
        #expect(
            try scheme("http://a.test/").authOptions(
                ["client_id": "i", "client_secret": "s", "token_url": "http://b.test/"])["token_url"]
                == "http://b.test/")
    }

    @Test func optionsSelectTheScheme() throws {
        let all = catalog([bearer, key, oauth])
        #expect(try all.authOptions(["key": "k"])["type"] == "api_key")
        #expect(try all.authOptions(["client_id": "i", "client_secret": "s"])["type"] == "oauth2")
        #expect(try all.authOptions(["scheme": "Token", "token": "t"]) == ["token": "t", "type": "bearer"])
        #expect(try all.authOptions(scheme: "ApiKey", ["key": "t"])["header"] == "X-Key")
    }

    @Test func explicitTypeIsUnchanged() throws {
        #expect(try catalog([]).authOptions(["type": "bearer", "token": "t"]) == ["type": "bearer", "token": "t"])
        #expect(try catalog([key]).authOptions(false) == false)
    }

    @Test func ambiguousSchemeListsTheChoices() {
        let two = catalog([bearer, key])
        #expect(
            rejection(two, ["user": "u"])
                == #"the API has several security schemes: "Token" (bearer), "ApiKey" (API key "X-Key" in the "#
                + #"header); "#
                + #"choose one with "scheme""#)
        #expect(
            rejection(two, ["scheme": "Tokn", "token": "t"])
                == #"the API has no security scheme "Tokn"; did you mean "Token"?"#)
        #expect(
            rejection(catalog([]), ["token": "t"])
                == #"the API description has no security schemes; set the type of option "auth""#)
        #expect(
            rejection(catalog([SecurityScheme("OpenID", .other("openIdConnect"))]), ["user": "u"])
                == #"the security scheme "OpenID" has the type "openIdConnect", which is not supported; set an "#
                + #"existing "#
                + #"token (token=) or the type of option "auth""#)
    }

    // MARK: Scopes

    private func requiring(_ scopes: [[String]], offered: [String] = []) -> Catalog {
        var catalog = catalog([
            SecurityScheme(
                "OAuth",
                .oauth2(
                    flow: .clientCredentials, authorizationURL: nil, tokenURL: "https://a.test/token",
                    scopes: offered.map { (name: $0, documentation: "") })),
            key,
        ])
        for (index, scopes) in scopes.enumerated() {
            var operation = Operation("o\(index)", .get, "/")
            operation.security = [SecurityRequirement([.init("OAuth", scopes: scopes)]), SecurityRequirement("ApiKey")]
            catalog.set(operation)
        }
        return catalog
    }

    private let secret: JSONValue = ["client_id": "i", "client_secret": "s"]

    @Test func scopesOfAllEndpointsAreRequestedTogether() throws {
        let catalog = requiring([["read"], ["write", "read"], []])
        #expect(try catalog.authOptions(secret)["scope"] == "read write")
        #expect(catalog.json["scopes"] == ["OAuth": ["read", "write"]])
        #expect(catalog.operations[1].json["security"] == [["OAuth": ["write", "read"]], ["ApiKey": []]])
        #expect(try catalog.authOptions(["key": "k"])["scope"] == nil)
        #expect(try requiring([[]]).authOptions(secret)["scope"] == nil)
        #expect(
            try requiring([["a"]]).authOptions(scheme: "OAuth", ["token": "t"]) == ["token": "t", "type": "bearer"])
    }

    @Test func explicitScopeIsUsed() throws {
        var given = secret
        if case .object(let members) = given { given = .object(members + [.init("scope", "admin")]) }
        #expect(try requiring([["read"]]).authOptions(given)["scope"] == "admin")
    }

    @Test func unofferedScopesAreNotRequested() throws {
        #expect(
            try requiring([["read", "write"]], offered: ["write", "other"]).authOptions(secret)["scope"] == "write")
        #expect(try requiring([["read"]], offered: ["other"]).authOptions(secret)["scope"] == nil)
    }

    @Test func invalidScopesAreOmitted() throws {
        #expect(try requiring([["a b", "", "q\"", "b\\", "ä", "x:y/z"]]).authOptions(secret)["scope"] == "x:y/z")
    }

    @Test func tooManyScopesAreRejected() {
        let many = (0...Catalog.maximumScopes).map { "s\($0)" }
        #expect(
            rejection(requiring([many]), secret)
                == #"the endpoints require more than 200 scopes of the security scheme "OAuth"; set "scope" "#
                + #"to the scopes you need"#
        )
        #expect(!rejection(requiring([many], offered: ["s1"]), secret).contains("more than"))
    }

    /// Secrets are sent to another origin than the API's only if the caller allows it.
    @Test func secretsForAnotherOriginRequireAnOption() throws {
        var catalog = catalog([oauth])
        let opted: JSONValue = ["client_id": "i", "client_secret": "s", "token_url": "https://a.test/token"]
        catalog.servers = ["https://api.test/v1"]
        #expect(
            rejection(catalog, secret)
                == #"the security scheme "OAuth" sends its secrets to "https://a.test", which is not the "#
                + #"API's origin "#
                + #"("https://api.test"); set token_url if this is intended"#)
        #expect(try catalog.authOptions(opted)["token_url"] == "https://a.test/token")
        #expect(try catalog.authOptions(base: "https://a.test", secret)["token_url"] == "https://a.test/token")
        let schemes: JSONValue = ["schemes": ["OAuth": secret]]
        #expect(rejection(catalog, schemes).contains("not the API's origin"))
        var configuration = Configuration()
        configuration.baseURL = "https://api.test"
        configuration.catalog = catalog
        #expect(throws: NightjarError.self) {
            try configuration.merge(json: #"{"auth": {"client_id": "i", "client_secret": "s"}}"#)
        }
    }

    // MARK: Several schemes

    @Test func severalCredentialsAreMatchedByScheme() throws {
        let all = requiring([["read"]])
        #expect(
            try all.authOptions(["schemes": ["OAuth": secret, "ApiKey": ["key": "k"]]])
                == [
                    "schemes": [
                        "OAuth": [
                            "client_id": "i", "client_secret": "s", "type": "oauth2",
                            "token_url": "https://a.test/token", "grant": "client_credentials", "scope": "read",
                        ],
                        "ApiKey": ["key": "k", "type": "api_key", "header": "X-Key"],
                    ]
                ])
        #expect(
            rejection(all, ["schemes": ["ApiKy": ["key": "k"]]])
                == #"the API has no security scheme "ApiKy"; did you mean "ApiKey"?"#)
        let typed: JSONValue = ["schemes": ["mine": ["type": "bearer", "token": "t"]]]
        #expect(try all.authOptions(typed) == typed)
    }

    @Test func severalCredentialsAreOneOption() throws {
        func read(_ json: String) -> String {
            var configuration = Configuration()
            configuration.catalog = requiring([["read"]])
            do {
                try configuration.merge(json: #"{"auth": \#(json)}"#)
                return configuration.auth.map { "\($0)" } ?? "none"
            } catch {
                return error.message
            }
        }
        #expect(
            read(#"{"schemes": {"OAuth": {"client_id": "i", "client_secret": "s"}, "ApiKey": {"key": "k"}}}"#)
                == #""ApiKey": API key ***, "OAuth": login ***"#)
        #expect(
            read(#"{"schemes": {"ApiKey": {"key": "k"}}, "token": "t"}"#)
                == #"option "auth.token" cannot be combined with "auth.schemes""#)
        #expect(
            read(#"{"schemes": []}"#)
                == #"option "auth.schemes" must be a table of credentials by security scheme name, found "#
                + #"an array"#
        )
        #expect(
            read(#"{"schemes": {"x": {"type": "bearer", "tken": "t"}}}"#)
                == #"unknown option "auth.schemes.x.tken"; did you mean "token"?"#)
        #expect(read(#"{"schemes": {"x": {"type": "bearer", "token": "t"}, "y": false}}"#) == #""x": bearer ***"#)
    }

    @Test func authOfAClientFollowsItsCatalog() throws {
        var configuration = Configuration()
        configuration.catalog = catalog([bearer])
        configuration.catalog?.servers = ["http://api.test/v2"]
        try configuration.merge(json: #"{"auth": {"token": "t"}}"#)
        guard case .bearer("t")? = configuration.auth else {
            Issue.record("no bearer")
            return
        }
        let known = try configuration.loadingOpenAPI()
        #expect(known.baseURL == "http://api.test/v2")
    }
}
