import NIOCore

/// Serializes a parameter's value by its style. OpenAPI 3.1 section 4.8.12.3 and RFC 6570.
///
/// These specifications leave some cases undefined. A nested array or object is written as JSON, except in style
/// deepObject. A null inside an array or object is omitted. The number 1.0 is written as 1.
struct ParameterText {
    /// The escaping of characters.
    enum Escaping {
        /// No escaping, for header fields.
        case none
        /// All except unreserved characters are encoded.
        case component
        /// Reserved characters are kept, except those that would end the query or change its meaning.
        case reserved
        /// `application/x-www-form-urlencoded`.
        case form

        func apply(_ text: String) -> String {
            var buffer = ByteBuffer()
            switch self {
            case .none: return text
            case .component: PercentEncoding.writeComponent(text, into: &buffer)
            case .reserved: PercentEncoding.writeQueryValue(text.utf8, into: &buffer)
            case .form: FormEncoding.write(text, into: &buffer)
            }
            return String(buffer: buffer)
        }
    }

    let name: String
    let style: ParameterStyle
    let explodes: Bool
    let escape: Escaping

    init(_ name: String, _ style: ParameterStyle, explodes: Bool, _ escape: Escaping) {
        self.name = name
        self.style = style
        self.explodes = explodes
        self.escape = escape
    }

    /// The shape of a value. The parts are unescaped strings.
    private enum Shape {
        case scalar(String)
        case list([String])
        case object([(name: String, text: String)])
    }

    /// Converts a value to its shape.
    ///
    /// - Throws: `invalid_request` for NaN and infinity.
    private static func shape(_ value: JSONValue) throws(NightjarError) -> Shape {
        switch value {
        case .array(let elements):
            var texts: [String] = []
            for element in elements where element != .null { texts.append(try element.parameterText()) }
            return .list(texts)
        case .object(let members):
            var texts: [(name: String, text: String)] = []
            for member in members where member.value != .null {
                texts.append((name: member.name, text: try member.value.parameterText()))
            }
            return .object(texts)
        default: return .scalar(try value.parameterText())
        }
    }

    // MARK: Path or header field

    /// Returns the serialized value. Returns an empty string for an empty list or object.
    func segment(_ value: JSONValue) throws(NightjarError) -> String {
        let shape = try ParameterText.shape(value)
        switch style {
        case .label: return joined(shape, before: ".", between: explodes ? "." : ",")
        case .matrix: return matrix(shape)
        default: return joined(shape, before: "", between: ",")
        }
    }

    private func joined(_ shape: Shape, before: String, between: String) -> String {
        let parts = parts(shape)
        return parts.isEmpty ? "" : before + parts.joined(separator: between)
    }

    /// Returns the parts between the separators.
    private func parts(_ shape: Shape) -> [String] {
        switch shape {
        case .scalar(let text): [escape.apply(text)]
        case .list(let texts): texts.map { escape.apply($0) }
        case .object(let members) where explodes: members.map { "\(escape.apply($0.name))=\(escape.apply($0.text))" }
        case .object(let members): members.flatMap { [escape.apply($0.name), escape.apply($0.text)] }
        }
    }

    /// Serializes a value in style matrix. An empty value has no `=`. RFC 6570 section 3.2.7.
    private func matrix(_ shape: Shape) -> String {
        func pair(_ name: String, _ text: String) -> String {
            ";" + escape.apply(name) + (text.isEmpty ? "" : "=\(text)")
        }
        switch shape {
        case .scalar(let text): return pair(name, escape.apply(text))
        case .list(let texts) where explodes: return texts.map { pair(name, escape.apply($0)) }.joined()
        case .object(let members) where explodes: return members.map { pair($0.name, escape.apply($0.text)) }.joined()
        default:
            let parts = parts(shape)
            return parts.isEmpty ? "" : pair(name, parts.joined(separator: ","))
        }
    }

    // MARK: Query, form or cookie

    /// Returns one `name=value` per item. Returns an empty array for an empty list or object.
    func items(_ value: JSONValue) throws(NightjarError) -> [String] {
        if style == .deepObject, case .object(let members) = value { return try deepItems(members, name, depth: 0) }
        let shape = try ParameterText.shape(value)
        switch shape {
        case .scalar(let text): return [pair(name, escape.apply(text))]
        case .list(let texts) where explodes || style == .deepObject: return texts.map { pair(name, escape.apply($0)) }
        case .object(let members) where explodes: return members.map { pair($0.name, escape.apply($0.text)) }
        default:
            let parts = ParameterText(name, style, explodes: false, escape).parts(shape)
            return parts.isEmpty ? [] : [pair(name, parts.joined(separator: separator))]
        }
    }

    private func pair(_ name: String, _ text: String) -> String {
        let escaping = escape == .form ? Escaping.form : .component
        return escaping.apply(name) + "=" + text
    }

    private var separator: String {
        switch style {
        case .spaceDelimited: escape == .form ? "+" : "%20"
        case .pipeDelimited: "%7C"
        default: ","
        }
    }

    /// Returns items of the form `name[member]=value`. In cases that OpenAPI does not define, writes what common
    /// servers accept: `name[member][member]=value` for a nested object, and one item per element of an array.
    private func deepItems(
        _ members: [JSONValue.Member], _ path: String, depth: Int
    ) throws(NightjarError) -> [String] {
        var items: [String] = []
        for member in members {
            let name = "\(path)[\(member.name)]"
            switch member.value {
            case .null: continue
            case .object(let inner) where depth < ParameterText.maximumDepth:
                items += try deepItems(inner, name, depth: depth + 1)
            case .array(let elements):
                for element in elements where element != .null {
                    items.append(pair(name, escape.apply(try element.parameterText())))
                }
            default: items.append(pair(name, escape.apply(try member.value.parameterText())))
            }
        }
        return items
    }

    /// The maximum nesting of objects. Deeper values are written as JSON. Real APIs nest three levels.
    private static let maximumDepth = 16
}

extension PercentEncoding {
    /// Writes a query value with `allowReserved`. Keeps reserved characters and escapes. Encodes `#` and `&` (they
    /// would end the value), `+` (a server would read it as a space) and brackets (not allowed in a query, RFC 3986
    /// section 3.4).
    static func writeQueryValue(_ bytes: some Collection<UInt8>, into buffer: inout ByteBuffer) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let plain = rest.prefix { !"#&+[]".utf8.contains($0) }
            writeReserved(plain, into: &buffer)
            rest = rest.dropFirst(plain.count)
            if let byte = rest.popFirst() { writeEncoded(byte, into: &buffer) }
        }
    }
}
