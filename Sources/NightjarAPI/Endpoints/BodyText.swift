import NIOCore

/// Serializes a value as a body of one media type.
enum BodyText {
    case json, form, multipart
    /// A string, sent as is.
    case text

    func takes(_ value: JSONValue) -> Bool {
        switch (self, value) {
        case (.json, _), (.text, .string), (.form, .object), (.multipart, .object): true
        default: false
        }
    }

    /// Returns the Content-Type. Returns nil for a multipart form, whose type is set with the boundary when the body is
    /// sent.
    func contentType(_ choice: RequestContent.Choice) -> String? {
        switch self {
        case .json: choice.isRange ? "application/json" : choice.mediaType
        case .form: FormEncoding.contentType
        case .multipart: nil
        case .text: choice.isRange ? "text/plain" : choice.mediaType
        }
    }

    /// Serializes a value.
    ///
    /// - Parameter choice: determines how members of a form are written, and which members of a multipart form are
    ///   files.
    func body(of value: JSONValue, _ choice: RequestContent.Choice) throws(NightjarError) -> RequestBody {
        switch (self, value) {
        case (.form, .object(let members)): .bytes(try BodyText.form(members, choice.encodings))
        case (.multipart, .object(let members)):
            .multipart(try BodyText.multipart(members, choice.encodings, files: choice.files))
        case (.text, .string(let text)): .bytes(ByteBuffer(string: text))
        default: .bytes(try value.encoded())
        }
    }

    /// Serializes a URL-encoded form. Arrays become one item per element and objects become JSON, unless `style` or
    /// `explode` is set. Null members are omitted.
    private static func form(
        _ members: [JSONValue.Member], _ encodings: ExactDictionary<RequestContent.PartEncoding>
    ) throws(NightjarError) -> ByteBuffer {
        var items: [String] = []
        for member in members where member.value != .null {
            let encoding = encodings[member.name]
            var value = member.value
            if encoding?.style == nil, encoding?.explodes == nil, case .object = value {
                value = .string(try value.parameterText())
            }
            let style = encoding?.style ?? .form
            let text = ParameterText(
                member.name, style, explodes: encoding?.explodes ?? (style == .form),
                encoding?.allowsReserved == true ? .reserved : .form)
            items += try text.items(value)
        }
        return ByteBuffer(string: items.joined(separator: "&"))
    }

    /// Serializes a multipart form. Arrays become one part per element and objects become JSON parts. Null members are
    /// omitted.
    ///
    /// - Parameter files: the names of members whose strings are file contents. Each file is named after its member.
    private static func multipart(
        _ members: [JSONValue.Member], _ encodings: ExactDictionary<RequestContent.PartEncoding>, files: ExactSet
    ) throws(NightjarError) -> MultipartForm {
        var parts: [MultipartForm.Part] = []
        var fingerprint = Fingerprint()
        for member in members {
            let values: [JSONValue] = if case .array(let elements) = member.value { elements } else { [member.value] }
            for value in values where value != .null {
                let text = try value.parameterText()
                var part = MultipartForm.Part(member.name, text)
                part.contentType = contentType(of: value, encodings[member.name])
                if files.contains(member.name) {
                    part.filename = member.name
                    part.contentType = part.contentType ?? "application/octet-stream"
                }
                parts.append(part)
                fingerprint.add(member.name)
                fingerprint.add(text)
            }
        }
        // Equal values get equal boundaries. The form ensures that no part contains the boundary.
        var numbers = BoundaryNumbers(state: fingerprint.value)
        return try MultipartForm(parts, using: &numbers)
    }

    private static func contentType(of value: JSONValue, _ encoding: RequestContent.PartEncoding?) -> String? {
        if let declared = encoding?.contentType {
            // The description may allow several types. The first type that is not a range is used.
            let types = declared.split(separator: ",").map {
                String(decoding: ASCII.trimmed(Array($0.utf8)), as: UTF8.self)
            }
            if let type = types.first(where: { !$0.contains("*") }) { return type }
        }
        switch value {
        case .object, .array: return "application/json"
        default: return nil
        }
    }
}

extension RequestContent.Choice {
    /// The members that are files: binary strings, or arrays of them.
    fileprivate var files: ExactSet {
        guard let schema = try? schema?.get() else { return ExactSet() }
        return ExactSet(
            schema.properties.filter { $0.schema.isBinary || $0.schema.elements?.isBinary == true }.map(\.name))
    }
}

/// SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
private struct BoundaryNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
