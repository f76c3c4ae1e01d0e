import Foundation
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Compares the cookies that Nightjar and curl store from the same fields, and the cookies that they send.
@Suite(.enabled("curl is installed") { (try? run("curl", ["--version"]))?.status == 0 })
struct CurlCookiesTests {
    private let now = Date().timeIntervalSince1970
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Requests `url` with curl, with a host name that resolves to 127.0.0.1.
    private func curl(_ url: RequestURL, _ arguments: [String]) throws {
        let result = try run(
            "curl",
            [
                "-q", "-sS", "--noproxy", "*", "--max-time", "20", "--resolve",
                "\(url.origin.host):\(url.origin.port):127.0.0.1",
            ] + arguments + [url.description])
        #expect(result.status == 0, "\(result.errors)")
    }

    private static let fields = [
        "host=1", "http=2; HttpOnly", "below=3; Domain=example.com", "dot=4; Domain=.example.com; Path=/",
        "path=5; Path=/a", "age=6; Max-Age=1000", "date=7; Expires=Fri, 01-Jan-2100 00:00:00 GMT; Max-Age=500",
        "gone=8; Max-Age=0", "past=9; Expires=Thu, 01 Jan 1970 00:00:01 GMT", "other=10; Domain=example.org",
        "suffix=11; Domain=com", "empty=", "spaces=a b; Path=/", "equals=a=b=c", "quoted=\"x y\"",
        "secure=12; Secure", "__Host-x=13; Path=/", "__Secure-x=14", "twice=15", "twice=16", " trimmed = 17 ; Path=/ ",
    ]

    @Test func curlStoresTheSameCookies() throws {
        let headers = CurlCookiesTests.fields.map { "Set-Cookie: " + $0 }
        let peer = try ScriptedPeer([[.expectRequest, .respond(headers: headers)]])
        let url = try RequestURL("http://www.example.com:\(peer.port)/a/b")
        try curl(url, ["-c", folder.file("cookies.txt")])
        let file = String(decoding: try folder.read("cookies.txt"), as: UTF8.self)

        var curls = CookieJar()
        let report = CookiesText.read(file, into: &curls, at: now)
        #expect(report.problems.isEmpty)
        #expect(report.stored > 10)
        var ours = CookieJar()
        for field in CurlCookiesTests.fields { ours.store(setCookie: field, from: url, at: now) }
        #expect(reported(ours) == reported(curls))
    }

    /// Returns the cookies as texts without the known differences: times are rounded, and trailing slashes of paths are
    /// removed. curl keeps the trailing slash of a default path, which RFC 6265 removes.
    private func reported(_ jar: CookieJar) -> [String] {
        let cookies = jar.list(at: now).map { cookie in
            let age = cookie.expires.map { (($0 - now) / 100).rounded() * 100 }
            let path = cookie.path.hasSuffix("/") ? String(cookie.path.dropLast()) : cookie.path
            return """
                \(cookie.domain) \(cookie.isHostOnly) \(path) \(cookie.name)=\(cookie.value) \(cookie.isSecure) \
                \(cookie.isHTTPOnly) \(age.map { "\($0)" } ?? "session")
                """
        }
        return cookies.sorted()
    }

    @Test(arguments: [
        "http://www.example.com/a/b", "http://www.example.com/", "http://example.com/a", "http://x.example.com/ab",
    ])
    func curlSendsTheSameCookiesFromOurFile(_ text: String) throws {
        var jar = CookieJar()
        let from = try RequestURL("http://www.example.com/a/b")
        for field in CurlCookiesTests.fields { jar.store(setCookie: field, from: from, at: now) }
        jar.store(setCookie: "tls=18; Secure", from: try RequestURL("https://www.example.com/"), at: now)
        let (file, omitted) = CookiesText.format(jar.list(at: now))
        #expect(omitted.isEmpty)
        try folder.write("cookies.txt", Bytes(file.utf8))

        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let url = try RequestURL(text.replacing(".com", with: ".com:\(peer.port)"))
        try curl(url, ["-b", folder.file("cookies.txt")])
        let ours = jar.retrieve(for: url, at: now, isSafeMethod: true)
        let curls = peer.requests(0).first?["Cookie"]
        #expect(parts(ours) == parts(curls))
        #expect(ours != nil)
    }

    /// Returns the sorted cookies of a field. curl orders cookies of the same path by the length of their names, but
    /// Nightjar by age.
    private func parts(_ field: String?) -> [String] { field?.components(separatedBy: "; ").sorted() ?? [] }
}
