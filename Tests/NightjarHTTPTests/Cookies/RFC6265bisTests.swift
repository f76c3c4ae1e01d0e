import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Cookies, by section of RFC 6265bis.
@Suite struct RFC6265bisTests {
    enum Input: Sendable {
        /// The value of an Expires attribute.
        case date(String)
        /// The value of a Set-Cookie field.
        case field([UInt8])
        case domain(host: String, domain: String)
        case path(String, cookiePath: String)
        /// The path of a URL from which a cookie without a Path attribute is set.
        case defaultPath(String)
        /// A Set-Cookie value from a URL.
        case store(String, from: String)
        /// A Set-Cookie value from ``url``, followed by a request.
        case request(String, to: String)
        /// A Set-Cookie value from a URL. The jar already has a Secure cookie `sid` of www.example.com.
        case overlay(String, from: String)
    }

    enum Expected: Sendable, Equatable {
        case seconds(Int64)
        case matches(Bool)
        /// The cookie with its attributes, the default path, or the Cookie field of the request.
        case text(String)
        case stored
        case rejected(CookieRefusal)
        /// An invalid date, no Cookie field, or a deleted cookie.
        case nothing
    }

    typealias Row = RFCRow<Input, Expected>

    static let url = "https://www.example.com/a/b"

    static let rows: [Row] = [
        dates, invalidDates, calendar, domains, paths, pairs, controls, lifetimes, scopes, flags, requests, rejections,
        prefixes, overlays,
    ].joined().flatMap { $0 }

    @Test(arguments: rows)
    func rowHolds(_ row: Row) throws { #expect(try outcome(of: row.input) == row.expected) }

    private func outcome(of input: Input) throws -> Expected {
        var jar = CookieJar(isPublicSuffix: { suffixes.contains($0) })
        func store(_ text: String, _ url: String) throws -> Expected {
            switch jar.store(setCookie: text, from: try RequestURL(url), at: 1_750_000_000) {
            case .stored: .stored
            case .deleted: .nothing
            case .refused(let refusal): .rejected(refusal)
            }
        }
        switch input {
        case .date(let text):
            let seconds = Array(text.utf8).withUnsafeBytes { CookieDate.parse($0) }
            return seconds.map(Expected.seconds) ?? .nothing
        case .field(let bytes):
            let cookie: Result<SetCookie, CookieRefusal> = bytes.withUnsafeBytes { bytes in
                Result { () throws(CookieRefusal) in try SetCookie(parsing: bytes) }
            }
            switch cookie {
            case .success(let cookie): return .text(text(of: cookie))
            case .failure(let refusal): return .rejected(refusal)
            }
        case .domain(let host, let domain): return .matches(CookieScope.matches(host: host, domain: domain))
        case .path(let path, let cookiePath):
            return .matches(CookieScope.matches(path: Substring(path), cookiePath: cookiePath))
        case .defaultPath(let path): return .text(String(CookieScope.defaultPath(Substring(path))))
        case .store(let text, let url): return try store(text, url)
        case .request(let text, let target):
            let outcome = try store(text, RFC6265bisTests.url)
            guard outcome == .stored else { return outcome }
            let field = jar.retrieve(for: try RequestURL(target), at: 1_750_000_000, isSafeMethod: true)
            return field.map(Expected.text) ?? .nothing
        case .overlay(let text, let url):
            let first = try store("sid=s; Secure; Path=/; Domain=www.example.com", RFC6265bisTests.url)
            let outcome = try store(text, url)
            let values = jar.list(at: 1_750_000_000).map(\.value)
            return first == .stored && (values.contains("s") || outcome == .stored) ? outcome : .nothing
        }
    }

    /// Returns the name, the value and the attributes of a cookie.
    private func text(of cookie: SetCookie) -> String {
        var text = cookie.name + "=" + cookie.value
        if let seconds = cookie.maxAge { text += "; max-age=\(seconds)" }
        if let seconds = cookie.expires { text += "; expires=\(seconds)" }
        if let domain = cookie.domain { text += "; domain=\(domain)" }
        if let path = cookie.path { text += "; path=\(path)" }
        if cookie.sameSite != .unspecified { text += "; samesite=\(cookie.sameSite.rawValue)" }
        if cookie.isSecure { text += "; secure" }
        if cookie.isHTTPOnly { text += "; httponly" }
        return text
    }
}
