import NIOHTTP1

/// The value of an Authorization field (RFC 9110 section 11.4): a scheme, followed by a token or parameters.
///
/// Contains secrets and is never printed or logged.
struct Credentials {
    /// The scheme in lower case.
    let scheme: String
    /// The text after the scheme.
    let rest: String

    /// Nil if the field is missing or empty.
    init?(_ headers: HTTPHeaders) {
        guard let field = headers.first(name: "authorization") else { return nil }
        let words = field.split(separator: " ", maxSplits: 1)
        guard let scheme = words.first else { return nil }
        self.scheme = scheme.lowercased()
        rest = words.count == 2 ? String(words[1].drop { $0 == " " }) : ""
    }

    /// The token of the scheme `Bearer`.
    var bearer: String? { scheme == "bearer" && !rest.isEmpty ? rest : nil }

    /// The name and password of the scheme `Basic` (RFC 7617). Nil for another scheme or malformed credentials.
    var basic: (name: String, password: String)? {
        guard scheme == "basic", let bytes = Base64.decode(rest), let text = String(validating: bytes, as: UTF8.self)
        else { return nil }
        let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        return (String(halves[0]), String(halves[1]))
    }

    /// The parameters by their names in lower case, such as `username="demo", nc=00000001`. Nil if the syntax is
    /// invalid or a parameter is repeated.
    var parameters: [String: String]? {
        var rest = rest[...]
        var parameters: [String: String] = [:]
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
            if rest.isEmpty { return parameters }
            let name = rest.prefix { $0 != "=" && $0 != "," && $0 != " " }
            rest = rest.dropFirst(name.count)
            guard !name.isEmpty, rest.popFirst() == "=", let value = FieldParameters.takeValue(&rest, until: ",") else {
                return nil
            }
            guard parameters.updateValue(value, forKey: name.lowercased()) == nil else { return nil }
        }
    }
}

extension Credentials: CustomStringConvertible, CustomReflectable {
    var description: String { "\(scheme) credentials" }
    var customMirror: Mirror { Mirror(self, children: ["scheme": scheme]) }
}
