/// Matches cookies with hosts, paths and sites. RFC 6265bis sections 5.1.2 to 5.1.4 and 5.2.
///
/// Hosts have the form of ``Origin/host``.
enum CookieScope {
    /// Returns true if `host` is the domain itself or a subdomain. An address has no subdomains. Section 5.1.3.
    static func matches(host: String, domain: String) -> Bool {
        host == domain || isBelow(Substring(host), Substring(domain)) && !isAddress(host)
    }

    /// Returns true if `name` ends in a dot followed by `domain`.
    static func isBelow(_ name: Substring, _ domain: Substring) -> Bool {
        let (name, domain) = (name.utf8, domain.utf8)
        let difference = name.count - domain.count
        guard difference > 1 else { return false }
        let tail = name.dropFirst(difference - 1)
        return tail.first == UInt8(ascii: ".") && tail.dropFirst().elementsEqual(domain)
    }

    /// Returns true if `path` is the cookie's path or a path below it. Section 5.1.4.
    static func matches(path: Substring, cookiePath: String) -> Bool {
        let (path, prefix) = (path.utf8, cookiePath.utf8)
        guard path.starts(with: prefix) else { return false }
        return prefix.last == UInt8(ascii: "/") || path.count == prefix.count
            || path.dropFirst(prefix.count).first == UInt8(ascii: "/")
    }

    /// Returns the path of a request target, without its query.
    static func path(of target: String) -> Substring {
        target.utf8.firstIndex(of: UInt8(ascii: "?")).map { target[..<$0] } ?? target[...]
    }

    /// Returns the path of a cookie without a Path attribute: the URL's path up to its last slash, without that slash.
    /// Returns `/` if this path is empty.
    static func defaultPath(_ path: Substring) -> Substring {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex else { return "/" }
        return path[..<slash]
    }

    /// Converts a host name from a program or file to the form of ``Origin/host``. Returns nil if it is invalid.
    static func host(named text: String) -> String? {
        let name = text.utf8.first == UInt8(ascii: ".") ? String(text.dropFirst()) : text
        let written = name.utf8.contains(UInt8(ascii: ":")) ? "[\(name)]" : name
        return try? written.withRawBytes(HostSyntax.canonical)
    }

    /// Returns true for an IP address. A host that ends in a number is an IPv4 address (see ``HostSyntax``), and only
    /// IPv6 addresses contain a colon.
    static func isAddress(_ host: String) -> Bool {
        let host = host.utf8
        return host.last.map(ASCII.isDigit) ?? false
            && host.reversed().prefix { $0 != UInt8(ascii: ".") }.allSatisfy(ASCII.isDigit)
            || host.contains(UInt8(ascii: ":"))
    }

    /// Returns the host and its parent domains, up to the top-level domain. An address has no parents.
    static func ancestry(of host: String) -> some Sequence<Substring> {
        let isAddress = isAddress(host)
        return sequence(first: Substring(host)) { name in
            guard !isAddress, let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
            let above = name[name.utf8.index(after: dot)...]
            return above.isEmpty ? nil : above
        }
    }

    /// Returns the registrable domain: the longest public suffix of `host` and the label before it. Returns `host` if
    /// there is none.
    static func site(of host: String, isPublicSuffix: (String) -> Bool) -> Substring {
        guard !isAddress(host) else { return Substring(host) }
        var below = Substring(host)
        for name in ancestry(of: host) {
            if isPublicSuffix(String(name)) { return below }
            below = name
        }
        return Substring(host)
    }
}
