/// One element of Sec-WebSocket-Extensions. RFC 6455 section 9.1.
struct WebSocketExtension: Equatable {
    struct Parameter: Equatable {
        var name: String
        /// Nil for a parameter without a value. A quoted value is unquoted.
        var value: String?
    }

    var name: String
    var parameters: [Parameter] = []

    /// Parses the values of all Sec-WebSocket-Extensions fields.
    ///
    /// - Returns: nil if the syntax is invalid.
    static func parse(_ values: [String]) -> [WebSocketExtension]? {
        var elements: [WebSocketExtension] = []
        for value in values {
            var reader = Reader(rest: value.utf8[...])
            repeat {
                reader.skipBlanks()
                // Empty list elements are ignored. RFC 9110 section 5.6.1.2.
                if reader.rest.isEmpty || reader.rest.first == UInt8(ascii: ",") { continue }
                guard let element = reader.element() else { return nil }
                elements.append(element)
            } while reader.take(UInt8(ascii: ","))
            guard reader.rest.isEmpty else { return nil }
        }
        return elements
    }

    private struct Reader {
        var rest: Substring.UTF8View

        mutating func element() -> WebSocketExtension? {
            guard let name = token() else { return nil }
            var element = WebSocketExtension(name: name)
            while take(UInt8(ascii: ";")) {
                skipBlanks()
                guard let name = token() else { return nil }
                guard take(UInt8(ascii: "=")) else {
                    element.parameters.append(Parameter(name: name))
                    continue
                }
                skipBlanks()
                guard let value = rest.first == UInt8(ascii: "\"") ? quotedToken() : token() else { return nil }
                element.parameters.append(Parameter(name: name, value: value))
            }
            return element
        }

        mutating func skipBlanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

        /// Consumes `byte` and the blanks before it.
        mutating func take(_ byte: UInt8) -> Bool {
            skipBlanks()
            guard rest.first == byte else { return false }
            rest.removeFirst()
            return true
        }

        private mutating func token() -> String? {
            let token = rest.prefix(while: FieldSyntax.isTokenByte)
            rest = rest[token.endIndex...]
            return token.isEmpty ? nil : String(Substring(token))
        }

        /// The content of a quoted string must be a token.
        private mutating func quotedToken() -> String? {
            rest.removeFirst()
            var content: [UInt8] = []
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                guard byte == UInt8(ascii: "\\") else {
                    content.append(byte)
                    continue
                }
                guard let escaped = rest.popFirst() else { return nil }
                content.append(escaped)
            }
            return FieldSyntax.isToken(content) ? String(decoding: content, as: UTF8.self) : nil
        }
    }
}
