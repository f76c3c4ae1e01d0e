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

    private func refusal(_ catalog: Catalog, _ given: JSONValue) -> String {
        do {
            return "taken: \(try catalog.authOptions(given))"
        } catch {
            return error.message
        }
    }

    @Test func theOneSchemeSaysWhereCredentialsGo() throws {
        #expect(
            try catalog([bearer]).authOptions(["token": "t"]) == ["token": "t", "type": "bearer"])
        #expect(
            try catalog([key]).authOptions(["key": "k"]) == ["key": "k", "type": "api_key", "header": "X-Key"])
        #expect(
            try catalog([SecurityScheme("Q", .apiKey(name: "k", place: .query))]).authOptions(["key": "v"])
                == ["key": "v", "type": "api_key", "query": "k"])
        #expect(
            try catalog([SecurityScheme("C", .apiKey(name: "sid", place: .cookie))]).authOptions(["key": "v"])
                == ["key": "v", "type": "api_key", "header": "Cookie", "prefix": "sid="])
        #expect(
            try catalog([oauth]).authOptions(["client_id": "i", "client_secret": "s"])
                == [
                    "client_id": "i", "client_secret": "s", "type": "oauth2", "token_url": "https://a.test/token",
                    "grant": "client_credentials",
                ])
    }

    /// A description that was changed on its way must not have the client's secret sent in the clear.
    @Test func secretsAreNotSentWithoutTLSBecauseADescriptionSaysSo() throws {
        func scheme(_ url: String) -> Catalog {
            catalog([
                SecurityScheme(
                    "OAuth", .oauth2(flow: .clientCredentials, authorizationURL: nil, tokenURL: url, scopes: []))
            ])
        }
        let given: JSONValue = ["client_id": "i", "client_secret": "s"]
        #expect(
            refusal(scheme("http://a.test/token?client_secret=x"), given)
                == #"the security scheme "OAuth" sends its secrets to "http://a.test", without TLS; set token_url (and "#
                + "authorize_url) where that is meant")
        #expect(refusal(scheme("http://127.0.0.1.evil.test/"), given).contains("without TLS"))
        for own in ["http://127.0.0.1:80/t", "http://localhost:8080/t", "http://[::1]/t", "https://a.test/t"] {
            #expect(try scheme(own).authOptions(given)["token_url"] == .string(own))
        }
        #expect(
            try scheme("http://a.test/").authOptions(
                ["client_id": "i", "client_secret": "s", "token_url": "http://b.test/"])["token_url"]
                == "http://b.test/")
    }

    @Test func whatIsGivenTellsTheSchemesApart() throws {
        let all = catalog([bearer, key, oauth])
        #expect(try all.authOptions(["key": "k"])["type"] == "api_key")
        #expect(try all.authOptions(["client_id": "i", "client_secret": "s"])["type"] == "oauth2")
        #expect(try all.authOptions(["scheme": "Token", "token": "t"]) == ["token": "t", "type": "bearer"])
        #expect(try all.authOptions(scheme: "ApiKey", ["key": "t"])["header"] == "X-Key")
    }

    @Test func whatHasATypeStaysAsItIs() throws {
        #expect(try catalog([]).authOptions(["type": "bearer", "token": "t"]) == ["type": "bearer", "token": "t"])
        #expect(try catalog([key]).authOptions(false) == false)
    }

    @Test func whatCannotBeToldListsWhatThereIs() {
        let two = catalog([bearer, key])
        #expect(
            refusal(two, ["user": "u"])
                == #"the API has several ways to log in: "Token" (bearer), "ApiKey" (API key "X-Key" in the header); "#
                + #"say by "scheme" which one"#)
        #expect(
            refusal(two, ["scheme": "Tokn", "token": "t"])
                == #"the API has no security scheme "Tokn"; did you mean "Token"?"#)
        #expect(
            refusal(catalog([]), ["token": "t"])
                == #"the API's description names no way to log in; give option "auth" a type"#)
        #expect(
            refusal(catalog([SecurityScheme("OpenID", .other("openIdConnect"))]), ["user": "u"])
                == #"the security scheme "OpenID" is "openIdConnect", which Nightjar does not speak; give a token that "#
                + #"you have (token=), or option "auth" a type"#)
    }

    @Test func aClientsAuthIsToldByItsCatalog() throws {
        var configuration = Configuration()
        configuration.catalog = catalog([bearer])
        configuration.catalog?.servers = ["http://api.test/v2"]
        try configuration.merge(json: #"{"auth": {"token": "t"}}"#)
        guard case .bearer("t")? = configuration.auth else {
            Issue.record("no bearer")
            return
        }
        let known = try configuration.knowingItsEndpoints()
        #expect(known.baseURL == "http://api.test/v2")
    }
}
