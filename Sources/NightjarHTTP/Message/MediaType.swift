/// The value of a Content-Type field: `text/html; charset=utf-8`. RFC 9110 section 8.3.1, read as the WHATWG MIME
/// Sniffing standard reads it (section 4.4): what is wrong with a parameter costs that parameter and nothing more. Spaces
/// around the equals sign, for which browsers drop it, do not matter.
public struct MediaType: Sendable, Equatable, CustomStringConvertible {
    public struct Parameter: Sendable, Equatable {
        /// In lower case.
        public let name: String
        public let value: String
    }

    /// In lower case, as ``subtype`` is: `text`.
    public let type: String
    public let subtype: String
    /// In their order, each name once: the first counts.
    public let parameters: [Parameter]

    /// Nil for what has no type or no subtype.
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

    /// The value of the first parameter of this name, which is in lower case.
    public subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// `text/html`
    public var essence: String { "\(type)/\(subtype)" }
    public var charset: String? { self["charset"] }

    /// `application/json`, `text/json` and all that are written in JSON, such as `application/problem+json`.
    public var isJSON: Bool {
        subtype == "json" && ["application", "text"].contains(type) || subtype.hasSuffix("+json")
    }

    public var isText: Bool { type == "text" || isJSON || subtype == "xml" || subtype.hasSuffix("+xml") }

    /// As it is written in a field: values that are no token in quotes.
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

    /// Each with the semicolon in front of it. Further ones than `maximumParameters` are passed over, so that finding
    /// the names that repeat stays cheap.
    private static func parameters(_ text: ArraySlice<UInt8>) -> [Parameter] {
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
                // What is between the quotes and the next semicolon is noise.
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

    /// RFC 9110 section 5.6.4, from its first quote on. One that does not end goes to the end of the field.
    private static func quotedString(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var value: [UInt8] = []
        rest.removeFirst()
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            // A backslash with nothing behind it is one.
            value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return value
    }

    private static func lowercase(_ text: ArraySlice<UInt8>) -> String {
        String(decoding: text.map(ASCII.lowercase), as: UTF8.self)
    }
}
