// Serializes a parameter's value for its place. OpenAPI 3.1 section 4.8.12.

extension Parameter {
    /// Returns the encoded value for the path.
    func segment(_ value: JSONValue) throws(NightjarError) -> String {
        guard mediaType == nil else { return ParameterText.Escaping.component.apply(try content(value)) }
        return try text(.component).segment(value)
    }

    /// Returns the encoded query items, `name=value`.
    func queryItems(_ value: JSONValue) throws(NightjarError) -> [String] {
        try items(value, allowsReserved ? .reserved : .component)
    }

    /// Returns the cookies, `name=value`, encoded as in a query. Several items become separate cookies.
    func cookies(_ value: JSONValue) throws(NightjarError) -> [String] { try items(value, .component) }

    /// Returns the header field value, not encoded.
    func fieldValue(_ value: JSONValue) throws(NightjarError) -> String {
        mediaType == nil ? try text(.none).segment(value) : try content(value)
    }

    private func items(_ value: JSONValue, _ escaping: ParameterText.Escaping) throws(NightjarError) -> [String] {
        guard mediaType == nil else {
            return ["\(ParameterText.Escaping.component.apply(name))=\(escaping.apply(try content(value)))"]
        }
        return try text(escaping).items(value)
    }

    private func text(_ escaping: ParameterText.Escaping) -> ParameterText {
        ParameterText(name, style, explodes: explodes, escaping)
    }

    /// Returns the value serialized as ``mediaType``: JSON, or a string as is for another type.
    private func content(_ value: JSONValue) throws(NightjarError) -> String {
        if case .string(let text) = value, mediaType.flatMap(MediaType.init)?.isJSON != true { return text }
        return String(buffer: try value.encoded())
    }

    /// Returns true if callers must not set a header field of this name: Host, or a field that ``ReservedField``
    /// rejects.
    package static func isWrittenByClient(field name: String) -> Bool {
        var name = name
        return name.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return ASCII.isCaseless(bytes, "host") || ReservedField.reason(bytes) != nil
        }
    }
}
