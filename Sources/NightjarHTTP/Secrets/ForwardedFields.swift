/// The header fields that may be sent to another origin.
///
/// The list applies to redirects, to links to the next page, and to the client's default fields if a request goes to an
/// origin other than that of the base URL. Unknown fields are not sent.
public struct ForwardedFields: Sendable, Equatable {
    /// Additional names that the caller allows.
    public let names: [String]

    /// Extends the built-in list.
    ///
    /// - Throws: `invalid_argument` for an invalid name, and for a field that is never sent to another origin.
    public init(_ names: [String] = []) throws(NightjarError) {
        for name in names {
            guard FieldSyntax.isToken(name.utf8) else {
                throw NightjarError(
                    .invalidArgument, "forward_headers must be names of header fields, got \(quoted(name))")
            }
            let isForbidden = ["authorization", "proxy-authorization", "cookie", "host"].contains {
                ASCII.equalIgnoringCase(name.utf8, $0.utf8)
            }
            guard !isForbidden else {
                throw NightjarError(
                    .invalidArgument,
                    "forward_headers cannot contain \(name): the field belongs to the origin for which it was set; "
                        + "set it on a request "
                        + "to the other origin")
            }
        }
        self.names = names
    }

    private init() { names = [] }

    /// The built-in list.
    public static let standard = ForwardedFields()

    /// Returns true if the field may be sent to another origin.
    ///
    /// - Parameter sensitive: names that the caller declares as credentials. These fields are never allowed.
    func allow(_ name: UnsafeRawBufferPointer, sensitive: [String]) -> Bool {
        func isAmong(_ names: [String]) -> Bool { names.contains { ASCII.equalIgnoringCase(name, $0.utf8) } }
        return (ForwardedFields.isSafe(name) || isAmong(names)) && !isAmong(sensitive)
    }

    /// Returns true if the field describes the client or the request and never identifies the user.
    static func isSafe(_ name: UnsafeRawBufferPointer) -> Bool {
        func says(_ text: StaticString) -> Bool { ASCII.isCaseless(name, text) }
        switch name.count {
        case 2: return says("te")
        case 3: return says("dnt")
        case 5: return says("range")
        case 6: return says("accept") || says("expect") || says("pragma") || says("prefer") || says("digest")
        case 7: return says("sec-gpc")
        case 8: return says("if-match") || says("if-range") || says("priority")
        case 9: return says("save-data")
        case 10: return says("user-agent")
        case 11: return says("want-digest") || says("repr-digest")
        case 12: return says("content-type")
        case 13: return says("cache-control") || says("if-none-match") || says("content-range")
        case 14: return says("accept-charset") || says("content-length") || says("content-digest")
        case 15: return says("accept-encoding") || says("accept-language") || says("idempotency-key")
        case 16: return says("content-encoding") || says("content-language") || says("want-repr-digest")
        case 17: return says("if-modified-since")
        case 19: return says("if-unmodified-since") || says("want-content-digest") || says("content-disposition")
        default: return false
        }
    }
}

extension Headers {
    /// Returns the fields that may be sent to another origin.
    public func forwarded(_ fields: ForwardedFields, sensitive: [String]) -> Headers {
        var others = Headers()
        for index in 0..<count {
            withBytes(at: index) { name, value in
                if fields.allow(name, sensitive: sensitive) { others.append(name: name, value: value) }
            }
        }
        return others
    }
}
