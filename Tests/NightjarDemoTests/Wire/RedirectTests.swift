import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct RedirectTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    @Test(arguments: [301, 302, 303, 307, 308])
    func redirectsAreRepeatedAsRequested(status: Int) throws {
        let first = try demo.curl("/redirect/2?status=\(status)")
        #expect(first.status == status)
        #expect(first["Location"] == "/redirect/1?status=\(status)")
        #expect(try demo.curl("/redirect/1?status=\(status)")["Location"] == "/echo?status=\(status)")
        #expect(try demo.curl("/redirect/0").status == 200)
        let end = try demo.last("/redirect/5?status=\(status)", ["-L"])
        #expect(try end.json["target"] as? String == "/echo?status=\(status)")
        #expect(demo.server.statistics.requests["GET /redirect/{n}"] == 8)
    }

    @Test func redirectMayBeAbsolute() throws {
        let response = try demo.curl("/redirect/1?absolute=true")
        #expect(response["Location"] == "http://127.0.0.1:\(demo.port)/echo?absolute=true")
    }

    @Test func redirectTargetIsConfigurable() throws {
        for url in [
            "/echo?a=1", "http://127.0.0.2:1/x#f", "../up", "file:///etc/passwd", "//other.example/", "http://[",
        ] {
            let encoded = url.utf8.map { "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            #expect(try demo.curl("/redirect-to?url=\(encoded)&status=307")["Location"] == url)
        }
        let bare = try demo.curl("/redirect-to?status=303")
        #expect(bare.status == 303)
        #expect(bare["Location"] == nil)
        #expect(try demo.curl("/redirect-to?url=/&status=304").status == 400)
        #expect(try demo.curl("/redirect-to?url=/%0d%0aX-Injected:%201").status == 400)
    }

    @Test func curlChangesTheMethodByStatus() throws {
        for (status, method) in [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")] {
            let response = try demo.last("/redirect-to?url=/echo&status=\(status)", ["-L", "-d", "body"])
            #expect(try response.json["method"] as? String == method)
            #expect(try response.json["body"] as? String == (method == "POST" ? "body" : ""))
        }
    }

    @Test func redirectLoopIsEndless() throws {
        let loop = try demo.curl("/redirect-loop?a=b")
        #expect(loop["Location"] == "/redirect-loop?a=b")
        var path = "/redirect-loop/0?size=3"
        for _ in 0..<7 { path = try #require(try demo.curl(path)["Location"]) }
        #expect(path == "/redirect-loop/1?size=3&status=302")
    }
}
