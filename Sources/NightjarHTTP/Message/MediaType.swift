/// The value of a Content-Type field: `text/html; charset=utf-8`. RFC 9110 section 8.3.1.
///
/// Parsed as in the WHATWG MIME Sniffing standard (section 4.4): an invalid parameter is ignored, and the other
/// parameters are kept. Unlike browsers, the parser also accepts spaces around the equals sign.
public struct MediaType: Sendable, Equatable, CustomStringConvertible {
    public struct Parameter: Sendable, Equatable {
        /// The name in lower case.
        public let name: String
        public let value: String
    }

    /// The type in lower case: `text`.
    public let type: String
    /// The subtype in lower case: `html`.
    public let subtype: String
    /// The parameters in their original order. If a name repeats, only the first parameter is kept.
    public let parameters: [Parameter]

    /// Parses a field value. Returns nil if the type or subtype is missing or invalid.
    public init?(_ field: String) {
        var rest = ASCII.trimmed(Array(field.utf8))
        let type = rest.prefix { $0 != UInt8(ascii: "/") }
        rest = rest.dropFirst(type.count + 1)
        let subtype = ASCII.trimmed(rest.prefix { $0 != UInt8(ascii: ";") })
        guard FieldSyntax.isToken(type), FieldSyntax.isToken(subtype) else { return nil }
        self.type = MediaType.lowercase(type)
        self.subtype = MediaType.lowercase(subtype)
        parameters = MediaType.parameters(rest.drop { $0 != UInt8(ascii: ";") })
    }

    /// The value of the first parameter with this name. `name` must be in lower case.
    public subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// Type and subtype: `text/html`.
    public var essence: String { "\(type)/\(subtype)" }
    public var charset: String? { self["charset"] }

    /// True for `application/json`, `text/json` and types with the suffix `+json`, such as `application/problem+json`.
    public var isJSON: Bool {
        subtype == "json" && ["application", "text"].contains(type) || subtype.hasSuffix("+json")
    }

    /// The serialized field value. Parameter values that are not tokens are quoted.
    public var description: String {
        parameters.reduce(into: essence) { text, parameter in
            text += ";\(parameter.name)="
            if FieldSyntax.isToken(parameter.value.utf8) {
                text += parameter.value
            } else {
                text += "\""
                for scalar in parameter.value.unicodeScalars {
                    if scalar == "\"" || scalar == "\\" { text += "\\" }
                    text.unicodeScalars.append(scalar)
                }
                text += "\""
            }
        }
    }

    // MARK: Reading

    /// Parses parameters that begin with semicolons. Parameters after the first ``maximumParameters`` are ignored,
    /// because finding duplicate names takes quadratic time.
    static func parameters(_ text: ArraySlice<UInt8>) -> [Parameter] {
        var parameters: [Parameter] = []
        var rest = text
        while rest.popFirst() != nil, parameters.count < maximumParameters {
            let before = rest.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") }
            rest = rest.dropFirst(before.count)
            guard rest.first == UInt8(ascii: "=") else { continue }
            let name = ASCII.trimmed(before)
            rest = rest.dropFirst().drop(while: ASCII.isWhitespace)
            var value: [UInt8]
            if rest.first == UInt8(ascii: "\"") {
                value = quotedString(&rest)
                // Bytes between the closing quote and the next semicolon are ignored.
                rest = rest.drop { $0 != UInt8(ascii: ";") }
            } else {
                let plain = rest.prefix { $0 != UInt8(ascii: ";") }
                rest = rest.dropFirst(plain.count)
                value = Array(ASCII.trimmed(plain))
                if value.isEmpty { continue }
            }
            let key = lowercase(name)
            guard FieldSyntax.isToken(name), FieldSyntax.isValue(value), !parameters.contains(where: { $0.name == key })
            else { continue }
            parameters.append(Parameter(name: key, value: String(decoding: value, as: UTF8.self)))
        }
        return parameters
    }

    private static let maximumParameters = 32

    /// Parses a quoted string (RFC 9110 section 5.6.4) that begins at its opening quote. An unterminated string extends
    /// to the end of the field.
    private static func quotedString(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        rest.removeFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            // A backslash at the end of the field is kept literally.
            value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return value
    }

    private static func lowercase(_ text: ArraySlice<UInt8>) -> String {
        String(decoding: text.map(ASCII.lowercase), as: UTF8.self)
    }
}
