import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct CookieTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    @Test func cookieIsSetWithItsAttributes() throws {
        let response = try demo.curl(
            "/cookies/set?name=sid&value=a%20b&path=/cookies&domain=127.0.0.1&max_age=60&same_site=Lax&secure&http_only=true"
        )
        #expect(
            response["Set-Cookie"]
                == "sid=a b; Path=/cookies; Domain=127.0.0.1; Max-Age=60; SameSite=Lax; Secure; HttpOnly")
        #expect(try demo.curl("/cookies/set?name=a&secure=false")["Set-Cookie"] == "a=")
    }

    @Test func setCookieLinesAreSentUnchanged() throws {
        let response = try demo.curl("/cookies/set?raw=a=1;%20Path&raw==;;x&raw=b")
        #expect(response.headers.filter { $0.name == "Set-Cookie" }.map(\.value) == ["a=1; Path", "=;;x", "b"])
    }

    @Test func invalidCookieIsRejected() throws {
        for query in ["", "?value=1", "?name=a&value=%0d%0aX:%201", "?name=a&secure=maybe", "?name=a&then=/%0a"] {
            #expect(try demo.curl("/cookies/set\(query)").status == 400)
        }
        #expect(try demo.curl("/cookies/delete").status == 400)
    }

    @Test func receivedCookiesAreListed() throws {
        let json = try demo.curl("/cookies", ["-H", "Cookie: a=1; b=x=y; c; ="]).json
        #expect(json["cookies"] as? [[String]] == [["a", "1"], ["b", "x=y"], ["c", ""], ["", ""]])
        #expect(json["fields"] as? [String] == ["a=1; b=x=y; c; ="])
        #expect(try demo.curl("/cookies").json["cookies"] as? [[String]] == [])
    }

    /// Uses curl's cookie jar across the redirect that sets the cookie.
    @Test func curlStoresAndDeletesACookie() throws {
        let folder = try TemporaryDirectory()
        let jar = folder.file("jar")
        let options = ["-L", "-b", jar, "-c", jar]
        let set = try demo.last("/cookies/set?name=a&value=1&path=/cookies&then=/cookies", options)
        #expect(try set.json["cookies"] as? [[String]] == [["a", "1"]])
        #expect(try demo.curl("/cookies/paths/x", options).json["cookies"] as? [[String]] == [["a", "1"]])
        #expect(try demo.curl("/echo", options).text.contains("Cookie") == false)
        let gone = try demo.last("/cookies/delete?name=a&path=/cookies&then=/cookies", options)
        #expect(try gone.json["cookies"] as? [[String]] == [])
        withExtendedLifetime(folder) {}
    }
}
