/// JSON Schemas (draft 2020-12, see OpenAPI 3.1 section 4.8.24) of the API's requests and responses.
enum Schema {
    static let string: JSON = ["type": "string"]
    static let number: JSON = ["type": "number"]
    static let flag: JSON = ["type": "boolean"]
    static let id: JSON = ["type": "integer", "minimum": .int(1)]
    static let time: JSON = ["type": "string", "format": "date-time"]

    static func text(_ lengths: ClosedRange<Int>) -> JSON {
        ["type": "string", "minLength": .int(lengths.lowerBound), "maxLength": .int(lengths.upperBound)]
    }

    static func integer(_ range: ClosedRange<Int>) -> JSON {
        ["type": "integer", "minimum": .int(range.lowerBound), "maximum": .int(range.upperBound)]
    }

    static func integer(from minimum: Int) -> JSON { ["type": "integer", "minimum": .int(minimum)] }

    static func number(_ range: ClosedRange<Int>) -> JSON {
        ["type": "number", "minimum": .int(range.lowerBound), "maximum": .int(range.upperBound)]
    }

    static func choice(_ values: String...) -> JSON {
        ["type": "string", "enum": .array(values.map(JSON.string))]
    }

    static func constant(_ value: String) -> JSON { ["type": "string", "const": .string(value)] }

    static func list(of items: JSON, atMost maximum: Int? = nil) -> JSON {
        var members: [JSON.Member] = [.init(name: "type", value: "array"), .init(name: "items", value: items)]
        if let maximum { members.append(.init(name: "maxItems", value: .int(maximum))) }
        return .object(members)
    }

    /// Returns the schema with null as an additional type.
    static func nullable(_ schema: JSON) -> JSON {
        guard case .object(let members) = schema, case .string(let type)? = schema["type"] else {
            return ["oneOf": [schema, ["type": "null"]]]
        }
        return .object(
            members.map { $0.name == "type" ? .init(name: "type", value: [.string(type), "null"]) : $0 })
    }

    static func reference(_ name: String) -> JSON { ["$ref": .string("#/components/schemas/\(name)")] }

    static func all(of schemas: JSON...) -> JSON { ["allOf": .array(schemas)] }

    static func one(of schemas: JSON...) -> JSON { ["oneOf": .array(schemas)] }

    /// Returns the schema of an object whose members are required unless listed in `optional`.
    ///
    /// - Parameter isClosed: true if other members are not allowed.
    static func object(
        _ properties: KeyValuePairs<String, JSON>, optional: Set<String> = [], isClosed: Bool = false
    ) -> JSON {
        let required = properties.map(\.key).filter { !optional.contains($0) }
        var members: [JSON.Member] = [.init(name: "type", value: "object")]
        if !required.isEmpty { members.append(.init(name: "required", value: .array(required.map(JSON.string)))) }
        members.append(
            .init(name: "properties", value: .object(properties.map { .init(name: $0.key, value: $0.value) })))
        if isClosed { members.append(.init(name: "additionalProperties", value: .bool(false))) }
        return .object(members)
    }
}
