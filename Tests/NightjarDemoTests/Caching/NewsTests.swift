import NightjarDemo
import Testing

@Suite struct NewsTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    @Test func listIsFreshForAMinuteAndMayBeStale() throws {
        let list = try demo.curl("/news")
        #expect(list["Cache-Control"] == "max-age=60, stale-while-revalidate=600, stale-if-error=86400")
        #expect(try list.results.map { $0["id"] as? Int } == (1...20).reversed())
        let tag = ["-H", "If-None-Match: \(list["ETag"] ?? "")"]
        #expect(try demo.curl("/news", tag).status == 304)

        let created = try demo.send("POST", "/news", json: #"{"title":"Neu","body":"b","author_id":1}"#)
        #expect(created.status == 201)
        #expect(created["Location"] == "/news/21")
        #expect(try demo.curl("/news/21").json["title"] as? String == "Neu")
        let later = try demo.curl("/news", tag)
        #expect(later.status == 200)
        #expect(try later.results.first?["url"] as? String == "/news/21")
        #expect(try demo.send("POST", "/news", json: #"{"title":1}"#).status == 422)
        #expect(try demo.control(#"{"reset":true}"#).status == 200)
        #expect(try demo.curl("/news", tag).status == 304)
    }

    @Test func itemIsImmutable() throws {
        let item = try demo.curl("/news/1")
        #expect(item["Cache-Control"] == "max-age=31536000, immutable")
        #expect(try item.json["body"] as? String != nil)
        _ = try demo.send("PATCH", "/v1/articles/1", json: #"{"title":"Anders"}"#)
        #expect(try demo.curl("/news/1")["ETag"] == item["ETag"])
        #expect(try demo.curl("/news/1", ["-H", "If-None-Match: \(item["ETag"] ?? "")"]).status == 304)
        #expect(try demo.curl("/news/99").status == 404)
    }

    @Test func userNewsArePrivate() throws {
        #expect(try demo.curl("/me/news").status == 401)
        var tags: Set<String> = []
        for handle in ["ada", "emi"] {
            let login = try demo.form("/v1/auth/login", ["email": "\(handle)@example.org", "password": "moonlight"])
            let token = try #require(try login.json["access_token"] as? String)
            let response = try demo.curl("/me/news", ["-H", "Authorization: Bearer \(token)"])
            #expect(try response.json["user"] as? String == handle)
            #expect(response["Cache-Control"]?.hasPrefix("private, max-age=60") == true)
            #expect(response["Vary"] == "Authorization")
            tags.insert(response["ETag"] ?? "")
        }
        #expect(tags.count == 2)
    }

    @Test func outageAffectsTheNews() throws {
        #expect(try demo.control(#"{"outage":"503"}"#).status == 200)
        #expect(try demo.curl("/news").status == 503)
        #expect(try demo.curl("/me/news").status == 503)
        #expect(demo.server.statistics.outageRequests == 2)
    }
}
