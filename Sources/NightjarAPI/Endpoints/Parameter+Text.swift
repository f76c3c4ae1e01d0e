// A parameter's value where the parameter stands. OpenAPI 3.1 section 4.8.12.

extension Parameter {
    /// In the path, encoded.
    func segment(_ value: JSONValue) throws(NightjarError) -> String {
        guard mediaType == nil else { return ParameterText.Escaping.component.apply(try content(value)) }
        return try text(.component).segment(value)
    }

    /// In the query: `name=value`, encoded.
    func queryItems(_ value: JSONValue) throws(NightjarError) -> [String] {
        try items(value, allowsReserved ? .reserved : .component)
    }

    /// In the Cookie field: `name=value`, encoded as in a query. What is more than one goes as cookies of their own.
    func cookies(_ value: JSONValue) throws(NightjarError) -> [String] { try items(value, .component) }

    /// In a header field, as it is.
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

    /// As a text of ``mediaType``: JSON, but for a text of another type, which is it already.
    private func content(_ value: JSONValue) throws(NightjarError) -> String {
        if case .string(let text) = value, mediaType.flatMap(MediaType.init)?.isJSON != true { return text }
        return String(buffer: try value.encoded())
    }

    /// Whether a header field of this name is none that a caller has a say in: where it goes, and how it is sent. RFC 9110
    /// sections 7.2 and 7.6.1.
    package static func isWrittenByClient(field name: String) -> Bool {
        var name = name
        return name.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return ASCII.isCaseless(bytes, "host") || ReservedField.reason(bytes) != nil
        }
    }
}
