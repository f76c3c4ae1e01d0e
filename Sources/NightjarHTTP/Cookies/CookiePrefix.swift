/// Checks the attributes that the name prefixes `__Secure-` and `__Host-` require. RFC 6265bis sections 4.1.3 and 5.7.
enum CookiePrefix {
    /// Returns false if a required attribute is missing, or if the value of a cookie without a name begins with a
    /// prefix.
    ///
    /// - Parameter rootPath: true if the Path attribute is `/`.
    static func isKept(name: String, value: String, isSecure: Bool, isHostOnly: Bool, rootPath: Bool) -> Bool {
        // A cookie without a name is sent as its value. A server may read that value as a name and a value.
        guard !name.isEmpty else { return !begins(value, host) && !begins(value, secure) }
        if begins(name, host) { return isSecure && isHostOnly && rootPath }
        if begins(name, secure) { return isSecure }
        return true
    }

    private static let secure: StaticString = "__secure-"
    private static let host: StaticString = "__host-"

    /// Ignores case, because some servers do.
    private static func begins(_ text: String, _ prefix: StaticString) -> Bool {
        let prefix = UnsafeRawBufferPointer(start: prefix.utf8Start, count: prefix.utf8CodeUnitCount)
        return ASCII.equalIgnoringCase(text.utf8.prefix(prefix.count), prefix)
    }
}
