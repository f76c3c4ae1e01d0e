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

    /// Returns true if the built-in list contains the field. Listed fields carry no credentials.
    static func isSafe(_ name: UnsafeRawBufferPointer) -> Bool {
        func matches(_ text: StaticString) -> Bool { ASCII.isCaseless(name, text) }
        switch name.count {
        case 2: return matches("te")
        case 3: return matches("dnt")
        case 5: return matches("range")
        case 6:
            return matches("accept") || matches("expect") || matches("pragma") || matches("prefer") || matches("digest")
        case 7: return matches("sec-gpc")
        case 8: return matches("if-match") || matches("if-range") || matches("priority")
        case 9: return matches("save-data")
        case 10: return matches("user-agent")
        case 11: return matches("want-digest") || matches("repr-digest")
        case 12: return matches("content-type")
        case 13: return matches("cache-control") || matches("if-none-match") || matches("content-range")
        case 14: return matches("accept-charset") || matches("content-length") || matches("content-digest")
        case 15: return matches("accept-encoding") || matches("accept-language") || matches("idempotency-key")
        case 16: return matches("content-encoding") || matches("content-language") || matches("want-repr-digest")
        case 17: return matches("if-modified-since")
        case 19:
            return matches("if-unmodified-since") || matches("want-content-digest") || matches("content-disposition")
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
