import NightjarHTTP

/// Fuzzes a cookie jar line by line. Aborts if one of these invariants is violated:
///
/// - A stored cookie could also have been created by the API, and fits into a header field.
/// - A cookie is sent only where its domain and path match, and a secure cookie only over TLS.
/// - A jar stays within its limits, also after reading the input as cookies.txt.
/// - A written cookies.txt is read back without a loss.
/// - A jar that merges a snapshot of another equals it afterwards, and merging it again changes nothing.
///
/// The first byte selects the URL (bits 0 and 1) and the seconds between lines (the other bits).
func fuzzSetCookie(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 1, urls.count == 4 else { return 0 }
    let input = UnsafeRawBufferPointer(start: start, count: count)
    var jar = CookieJar(isPublicSuffix: { $0 == "com" || $0 == "co.uk" || $0 == "github.io" })
    var now = 1_750_000_000.0
    var url = urls[Int(input[0] & 3)]
    let step = Double(input[0] >> 2)
    for line in input.dropFirst().split(separator: UInt8(ascii: "\n")) {
        jar.store(setCookie: UnsafeRawBufferPointer(rebasing: line), from: url, at: now)
        url = urls[line.count & 3]
        now += step
        check(jar, at: now)
    }
    for url in urls { checkSent(&jar, to: url, at: now) }
    checkText(jar, at: now)
    checkMerge(jar, at: now)
    _ = CookiesText.read(input, into: &jar, at: now)
    check(jar, at: now)
    return 0
}

private let urls = [
    "https://www.example.com/a/b", "http://www.example.com/", "https://me.github.io/x?y", "http://127.0.0.1:8080/a/",
].compactMap { try? RequestURL($0) }

private func check(_ jar: CookieJar, at now: Double) {
    let cookies = jar.list(at: now)
    require(cookies.count <= 50 * 5, "more than fifty cookies of a domain")
    for cookie in cookies {
        let again = try? Cookie(
            name: cookie.name, value: cookie.value, domain: cookie.domain, isHostOnly: cookie.isHostOnly,
            path: cookie.path, expires: cookie.expires, isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly,
            sameSite: cookie.sameSite, created: cookie.created, lastAccess: cookie.lastAccess,
            modified: cookie.modified)
        require(again == cookie, "\(cookie) could not be created directly")
        require(cookie.expires.map { $0 > now && $0 <= now + 400 * 86400 } ?? true, "an invalid expiry")
        require(
            cookie.domain != "com" && cookie.domain != "github.io" || cookie.isHostOnly, "a cookie for a public suffix")
    }
}

private func checkSent(_ jar: inout CookieJar, to url: RequestURL, at now: Double) {
    let field = jar.retrieve(for: url, at: now, isSafeMethod: true)
    let sent = jar.list(at: now).filter { cookie in
        let host = url.origin.host
        let isBelow = !cookie.isHostOnly && host.hasSuffix("." + cookie.domain)
        let path = cookie.path.hasSuffix("/") ? cookie.path : cookie.path + "/"
        return (host == cookie.domain || isBelow) && (url.path == cookie.path || url.path.hasPrefix(path))
            && (url.origin.isTLS || !cookie.isSecure)
    }
    let length = sent.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + ($1.name.isEmpty ? 2 : 3) }
    require((field?.utf8.count ?? -2) + 2 == length, "\(sent.count) cookies are not what is sent")
    require(field?.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } ?? true, "an invalid field")
}

private func checkText(_ jar: CookieJar, at now: Double) {
    let (text, omitted) = CookiesText.format(jar.list(at: now))
    var other = CookieJar(isPublicSuffix: { _ in false })
    let report = CookiesText.read(text, into: &other, at: now)
    require(report.skipped == 0, "our own file has problems: \(report.problems)")
    require(report.stored == jar.list(at: now).count - omitted.count, "our own file lost a cookie")
}

private func checkMerge(_ jar: CookieJar, at now: Double) {
    var other = CookieJar(isPublicSuffix: { _ in false })
    other.merge(jar.snapshot(), at: now)
    require(other.list(at: now) == jar.list(at: now), "a merge lost something")
    let revision = other.revision
    other.merge(jar.snapshot(), at: now)
    require(other.revision == revision, "a second merge changed something")
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
