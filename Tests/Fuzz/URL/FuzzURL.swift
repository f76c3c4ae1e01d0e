import NightjarHTTP

/// Fuzzes the URL parser. Aborts if one of these invariants is violated:
///
/// - It fails only with `invalid_url`. Messages are not empty, and their length is bounded.
/// - An accepted URL has a request target of bounded length, without spaces, control characters or non-ASCII bytes.
/// - A written URL is parsed back to the same URL.
/// - A joined path stays on the origin and below the path of the base, unless it is an absolute URL.
/// - A redacted URL has no user info.
func fuzzURL(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 1 else { return 0 }
    let input = UnsafeBufferPointer(start: start, count: count)
    let text = String(decoding: input, as: UTF8.self)
    if let url = read({ () throws(NightjarError) in try RequestURL(text) }) {
        check(url)
        let again = read { () throws(NightjarError) in try RequestURL(url.origin.description + url.target) }
        require(
            again?.origin == url.origin && again?.target == url.target,
            "\(url) is read back as \(String(describing: again))")
    }
    // Only a base URL can name a socket.
    if let base = read({ () throws(NightjarError) in try RequestURL(base: text) }), base.origin.socket != nil {
        check(base)
        let again = read { () throws(NightjarError) in try RequestURL(base: base.origin.description + base.target) }
        require(again == base, "\(base) is read back as \(String(describing: again))")
    }
    for base in bases {
        guard let joined = read({ () throws(NightjarError) in try base.joined(text, query: [("q", text)]) }) else {
            continue
        }
        check(joined)
        if joined.origin != base.origin {
            let lower = text.lowercased()
            require(lower.hasPrefix("http://") || lower.hasPrefix("https://"), "a path leads to \(joined.origin)")
        } else if joined.userInfo == base.userInfo, !text.lowercased().hasPrefix("http") {
            require(
                joined.target.hasPrefix(base.path.dropLast(base.path.hasSuffix("/") ? 1 : 0)),
                "\(joined) leaves its base")
        }
    }
    return 0
}

private let bases = ["http://h", "http://h/v1", "https://u:p@h:8443/v1/"].compactMap { try? RequestURL($0) }

private func read(_ make: () throws(NightjarError) -> RequestURL) -> RequestURL? {
    do throws(NightjarError) {
        return try make()
    } catch {
        require(error.kind == .invalidURL, "an error of kind \(error.kind.name)")
        require(!error.message.isEmpty && error.message.utf8.count < 2000, "an empty or too long message")
        return nil
    }
}

private func check(_ url: RequestURL) {
    require(url.target.utf8.first == UInt8(ascii: "/"), "a target without a leading slash")
    require(url.target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "an invalid target")
    require(url.target.utf8.count <= 65536, "a target that is too long")
    require(!url.target.utf8.contains(UInt8(ascii: "#")), "a fragment in the target")
    require((1...65535).contains(url.origin.port) && !url.origin.host.isEmpty, "an invalid origin")
    require(
        url.origin.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") }, "an invalid host")
    require(url.redacted.hasPrefix(url.origin.description), "user info is shown")
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
