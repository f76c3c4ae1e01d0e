/// Prefixes of names by which a server can tell that a cookie was set the way it wanted, for they do not come back with
/// it otherwise. RFC 6265bis sections 4.1.3 and 5.7.
enum CookiePrefix {
    /// - Parameter rootPath: the path is `/`, and was asked for.
    static func isKept(name: String, value: String, isSecure: Bool, isHostOnly: Bool, rootPath: Bool) -> Bool {
        // A value without a name is sent as if it were a name and a value.
        guard !name.isEmpty else { return !begins(value, host) && !begins(value, secure) }
        if begins(name, host) { return isSecure && isHostOnly && rootPath }
        if begins(name, secure) { return isSecure }
        return true
    }

    private static let secure: StaticString = "__secure-"
    private static let host: StaticString = "__host-"

    /// In whatever case, since there are servers that do not tell cases apart.
    private static func begins(_ text: String, _ prefix: StaticString) -> Bool {
        let prefix = UnsafeRawBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
        return ASCII.equalIgnoringCase(text.utf8.prefix(prefix.count), prefix)
    }
}
