import Foundation
import Testing

@Suite struct APITests {
    let demo: Demo

    init() throws { demo = try Demo() }

    // MARK: Lists

    @Test func articlesAreListedInPages() throws {
        let first = try demo.curl("/v1/articles")
        #expect(first.status == 200)
        #expect(first["Content-Type"] == "application/json")
        #expect(try first.results.map { $0["id"] as? Int } == Array(1...10))
        #expect(try first.json["total"] as? Int == 25)
        #expect(try first.json["total_pages"] as? Int == 3)
        let last = try demo.curl("/v1/articles?page=3&per_page=10")
        #expect(try last.results.map { $0["id"] as? Int } == Array(21...25))
        #expect(try demo.curl("/v1/articles?page=4").results.isEmpty)
        #expect(try demo.curl("/v1/users").json["total"] as? Int == 8)
        #expect(try demo.curl("/v1/comments?per_page=1").json["total"] as? Int == 60)
    }

    @Test(arguments: ["page=0", "page=x", "page=99999999999999999999", "per_page=101", "sort=color", "published=maybe"])
    func invalidQueryIsRejected(query: String) throws {
        let response = try demo.curl("/v1/articles?\(query)")
        #expect(response.status == 400)
        #expect(response["Content-Type"] == "application/problem+json")
        let errors = try response.json["errors"] as? [[String: Any]]
        #expect(errors?.first?["parameter"] as? String == query.prefix { $0 != "=" }.description)
    }

    @Test func articlesAreFiltered() throws {
        let all = try demo.curl("/v1/articles?per_page=100").results
        let tagged = try demo.curl("/v1/articles?per_page=100&tag=iOS%20%26+Swift").results
        #expect(!tagged.isEmpty)
        #expect(tagged.count == all.count { ($0["tags"] as? [String])?.contains("iOS & Swift") == true })
        let byHandle = try demo.curl("/v1/articles?per_page=100&author=ada").results
        let byID = try demo.curl("/v1/articles?per_page=100&author=1").results
        #expect(byHandle.count == byID.count)
        #expect(byHandle.allSatisfy { $0["author_id"] as? Int == 1 })
        #expect(try demo.curl("/v1/articles?author=nobody").results.isEmpty)
        #expect(try demo.curl("/v1/articles?published=false").json["total"] as? Int == 5)
        #expect(try demo.curl("/v1/articles?q=MOONLIGHT").results.map { $0["id"] as? Int } == [1])
        #expect(try demo.curl("/v1/users?handle=emi").results.map { $0["bio"] as? String } == ["渡り鳥を数えています。"])
    }

    @Test func articlesAreSorted() throws {
        let titles = try demo.curl("/v1/articles?sort=-title&per_page=100").results.compactMap {
            $0["title"] as? String
        }
        #expect(titles == titles.sorted(by: >))
        #expect(titles.count == 25)
    }

    @Test func sameSeedServesTheSameData() throws {
        let other = try Demo()
        #expect(try demo.curl("/v1/articles?per_page=100").body == other.curl("/v1/articles?per_page=100").body)
    }

    // MARK: One resource

    @Test func articleIsCreatedReadChangedAndDeleted() throws {
        let created = try demo.send(
            "POST", "/v1/articles",
            json: #"{"title":"Grüße \ud83d\ude00","body":"x","author_id":2,"summary":"s","tags":["a","b"]}"#)
        #expect(created.status == 201)
        let location = try #require(created["Location"])
        #expect(location == "/v1/articles/26")
        #expect(try demo.curl(location).json["title"] as? String == "Grüße 😀")

        let patched = try demo.send(
            "PATCH", location, json: #"{"summary":null,"tags":["c"]}"#, type: "application/merge-patch+json")
        #expect(patched.status == 200)
        #expect(try patched.json["summary"] is NSNull)
        #expect(try patched.json["tags"] as? [String] == ["c"])
        #expect(try patched.json["body"] as? String == "x")

        let replaced = try demo.send("PUT", location, json: #"{"title":"T","body":"y","author_id":3}"#)
        #expect(replaced.status == 200)
        #expect(try replaced.json["tags"] as? [String] == [])
        #expect(try replaced.json["created_at"] as? String == created.json["created_at"] as? String)

        // The response to GET can be sent back with PUT.
        #expect(try demo.send("PUT", location, json: demo.curl(location).text).status == 200)

        let deleted = try demo.curl(location, ["-X", "DELETE"])
        #expect(deleted.status == 204)
        #expect(deleted.body == [])
        #expect(deleted["Content-Length"] == nil)
        #expect(try demo.curl(location).status == 404)
        #expect(try demo.curl(location, ["-X", "DELETE"]).status == 404)
    }

    @Test func eachInvalidFieldIsReported() throws {
        let response = try demo.send(
            "POST", "/v1/articles", json: #"{"title":" ","author_id":99,"tags":["a",1],"published":1,"a/b":0}"#)
        #expect(response.status == 422)
        #expect(response["Content-Type"] == "application/problem+json")
        #expect(try response.json["status"] as? Int == 422)
        let errors = try #require(try response.json["errors"] as? [[String: String]])
        #expect(errors.map { $0["pointer"] } == ["/a~1b", "/title", "/body", "/author_id", "/tags/1", "/published"])
        #expect(errors[3]["detail"] == "there is no user 99")
    }

    @Test func requiredFieldCannotBeCleared() throws {
        let response = try demo.send("PATCH", "/v1/articles/1", json: #"{"title":null}"#)
        #expect(response.status == 422)
        #expect(response.text.contains(#"{"pointer":"/title","detail":"is required"}"#))
    }

    @Test func commentsBelongToAnArticle() throws {
        let before = try demo.curl("/v1/articles/1/comments").json["total"] as? Int ?? 0
        #expect(before >= 4)
        let created = try demo.send("POST", "/v1/articles/1/comments", json: #"{"author_id":1,"body":"Hm."}"#)
        #expect(created.status == 201)
        #expect(try created.json["article_id"] as? Int == 1)
        #expect(try demo.curl("/v1/articles/1/comments").json["total"] as? Int == before + 1)
        #expect(try demo.curl("/v1/articles/99/comments").status == 404)
        #expect(try demo.curl("/v1/articles/1", ["-X", "DELETE"]).status == 204)
        #expect(try demo.curl(try #require(created["Location"])).status == 404)
    }

    @Test func usersAreUniqueAndRequired() throws {
        let taken = try demo.send("POST", "/v1/users", json: #"{"handle":"ada","name":"A","email":"a@b"}"#)
        #expect(taken.status == 422)
        #expect(taken.text.contains("is taken"))
        #expect(try demo.curl("/v1/users/1", ["-X", "DELETE"]).status == 409)
        let free = try demo.send("POST", "/v1/users", json: #"{"handle":"zoe","name":"Z","email":"z@b"}"#)
        #expect(free.status == 201)
        #expect(try demo.curl(try #require(free["Location"]), ["-X", "DELETE"]).status == 204)
    }

    @Test func dataIsResetToTheSeed() throws {
        #expect(try demo.curl("/v1/articles/1", ["-X", "DELETE"]).status == 204)
        #expect(try demo.curl("/__data/reset", ["-X", "POST"]).status == 204)
        #expect(try demo.curl("/v1/articles/1").status == 200)
    }

    // MARK: Errors

    @Test(arguments: [
        ("{", "at byte 1, the text ends inside an object"), ("[1]", "must be a JSON object, not an array"),
        ("{\"a\":\u{1}}", "at byte 5"), ("{\"a\":\"\\ud800\"}", "unpaired surrogate"),
        ("{\"a\":01}", "at byte 6"),
        ("{\"a\":1e999}", "out of the range"), ("{}x", "unexpected data after the value"), ("", "at byte 0"),
        (String(repeating: "{\"a\":", count: 65) + "1" + String(repeating: "}", count: 65), "nested deeper"),
    ])
    func invalidJSONIsRejected(body: String, reason: String) throws {
        let response = try demo.send("POST", "/v1/users", json: body)
        #expect(response.status == 400)
        #expect(response["Content-Type"] == "application/problem+json")
        #expect(try (response.json["detail"] as? String)?.contains(reason) == true, "\(response.text)")
    }

    @Test func otherContentTypesAreRejected() throws {
        let form = try demo.curl("/v1/users", ["-d", "handle=x"])
        #expect(form.status == 415)
        #expect(form["Accept-Post"] == "application/json")
        let text = try demo.send("PATCH", "/v1/users/1", json: "{}", type: "text/plain")
        #expect(text["Accept-Patch"] == "application/merge-patch+json, application/json")
        #expect(
            try demo.send("PATCH", "/v1/users/1", json: "{}", type: "Application/JSON; charset=utf-8").status == 200)
    }

    @Test(arguments: [
        "/v1/articles/0", "/v1/articles/-1", "/v1/articles/abc", "/v1/articles/1/", "/nothing", "/v1//users",
    ])
    func unknownPathsAreNotFound(path: String) throws {
        let response = try demo.curl(path)
        #expect(response.status == 404)
        #expect(response["Content-Type"] == "application/problem+json")
    }

    @Test func allowListsTheMethods() throws {
        let rejected = try demo.curl("/v1/articles", ["-X", "DELETE"])
        #expect(rejected.status == 405)
        #expect(rejected["Allow"] == "GET, HEAD, OPTIONS, POST")
        let options = try demo.curl("/v1/articles/1", ["-X", "OPTIONS"])
        #expect(options.status == 204)
        #expect(options["Allow"] == "DELETE, GET, HEAD, OPTIONS, PATCH, PUT")
    }

    @Test func headIsGetWithoutTheBody() throws {
        let get = try demo.curl("/v1/articles/1")
        let head = try demo.curl("/v1/articles/1", ["-I"])
        #expect(head.status == 200)
        #expect(head["Content-Length"] == String(get.body.count))
        #expect(head.body == [])
    }

    @Test func rootListsTheResources() throws {
        let contents = try demo.curl("/").json
        let routes = contents["routes"] as? [[String: String]]
        #expect(contents["login"] as? [String: String] == ["email": "ada@example.org", "password": "moonlight"])
        #expect(routes?.contains(["method": "PATCH", "path": "/v1/comments/{id}"]) == true)
    }
}
