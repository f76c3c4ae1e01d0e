extension JSONSchema {
    /// The JSON types that a schema allows. Empty if all or none are allowed.
    public struct Shape: OptionSet, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let null = Shape(rawValue: 1)
        public static let boolean = Shape(rawValue: 2)
        /// Integers only. Not set if ``number`` is set.
        public static let integer = Shape(rawValue: 4)
        /// Includes integers.
        public static let number = Shape(rawValue: 8)
        public static let string = Shape(rawValue: 16)
        public static let array = Shape(rawValue: 32)
        public static let object = Shape(rawValue: 64)
    }

    /// The JSON types that this schema allows. Derived from `type`, `enum` and `const`, including those of the schemas
    /// in `$ref`, `allOf`, `anyOf` and `oneOf`. Empty if all types are allowed, and if no value is valid.
    public var shape: Shape {
        var looks = JSONSchema.maximumLooks
        let types = arena.types(of: root, 0, &looks)
        if types == Types.every { return [] }
        return Shape(rawValue: (types.contains(.number) ? types.subtracting(.integer) : types).rawValue)
    }

    /// The `format`, even if it is not validated, for example `int64`. Also searches `$ref`, `allOf`, and the only
    /// alternative to null in `anyOf` or `oneOf`.
    public var format: String? { first { $0.notice?.value.format } }

    /// The schema of an array's elements: `items`, or else the first schema of `prefixItems`. Nil if both are missing.
    public var elements: JSONSchema? { first { $0.items ?? $0.prefix.first }.map { JSONSchema(arena, $0) } }

    /// The `properties` of an object in document order, including those of `$ref` and `allOf`. If a name repeats, the
    /// first schema is used.
    public var properties: [(name: String, schema: JSONSchema)] {
        var known = ExactSet()
        return arena.parts(of: root).flatMap { arena[$0].rules.properties }.compactMap { property in
            known.insert(property.name) ? (property.name, JSONSchema(arena, property.schema)) : nil
        }
    }

    /// The names of required members, including those of `$ref` and `allOf`.
    public var required: [String] {
        var known = ExactSet()
        return arena.parts(of: root).flatMap { arena[$0].rules.required }.filter { known.insert($0) }
    }

    /// True if the value consists of raw bytes: the format is `binary`, or `contentMediaType` is present without
    /// `contentEncoding`.
    public var isBinary: Bool {
        if format == "binary" { return true }
        return arena.parts(of: root).contains { part in
            guard let notice = arena[part].rules.notice?.value else { return false }
            return notice.mediaType != nil && notice.encoding == nil
        }
    }

    /// `readOnly`: the member occurs only in responses.
    public var isReadOnly: Bool { arena.parts(of: root).contains { arena[$0].rules.isReadOnly } }

    /// The `contentMediaType`, for example `image/png`.
    public var mediaType: String? { first { $0.notice?.value.mediaType } }

    /// The `description`, in CommonMark.
    public var documentation: String? { first { $0.notice?.value.description } }

    public var defaultValue: JSONValue? { first { $0.notice?.value.defaultValue } }

    /// The values that `enum` or `const` allows. Empty if both are missing.
    public var values: [JSONValue] { first { $0.values } ?? [] }

    private func first<Value>(_ property: (Rules) -> Value?) -> Value? {
        for part in arena.parts(of: root) {
            if let value = property(arena[part].rules) { return value }
        }
        return nil
    }

    /// The maximum number of schemas that one call of ``shape`` inspects.
    fileprivate static let maximumLooks = 1_000
    /// The maximum nesting of the schemas that are inspected. Limits the stack depth.
    fileprivate static let maximumLookDepth = 32
}

extension JSONSchema.Types {
    static let every: JSONSchema.Types = [.null, .boolean, .integer, .number, .string, .array, .object]

    /// Creates the type of a value. A number without a fraction is an integer.
    init(of value: JSONValue) {
        self =
            switch value {
            case .null: .null
            case .bool: .boolean
            case .integer, .unsigned, .number: value.isInteger ? .integer : .number
            case .string: .string
            case .array: .array
            case .object: .object
            }
    }
}

extension JSONSchema.Arena {
    /// Returns a schema, followed by the schemas that apply to the same value unconditionally: by `$ref`, by `allOf`,
    /// or as the only alternative to null in `anyOf` or `oneOf`.
    func parts(of root: JSONSchema.Index) -> [JSONSchema.Index] {
        var parts: [JSONSchema.Index] = []
        var known: Set<JSONSchema.Index> = []
        var work = [root]
        while let next = work.popLast() {
            guard known.insert(next).inserted else { continue }
            parts.append(next)
            guard let combination = self[next].rules.combination?.value else { continue }
            var inner: [JSONSchema.Index] = []
            if let reference = combination.reference { inner.append(reference) }
            inner += combination.allOf
            for branches in [combination.anyOf, combination.oneOf] {
                let others = branches.filter { self[$0].rules.types != .null }
                if others.count == 1 { inner += others }
            }
            work += inner.reversed()
        }
        return parts
    }

    /// Returns all types that a schema allows. A schema that allows numbers allows integers too. The schema `false`
    /// allows no type.
    ///
    /// - Parameter looks: the number of schemas that may still be inspected. At 0, the result is every type. The limit
    ///   ends the recursion for recursive schemas.
    func types(of index: JSONSchema.Index, _ depth: Int, _ looks: inout Int) -> JSONSchema.Types {
        let rules = self[index].rules
        looks -= 1
        guard !rules.isNever else { return [] }
        guard depth < JSONSchema.maximumLookDepth, looks > 0 else { return JSONSchema.Types.every }
        var types = rules.types.isEmpty ? JSONSchema.Types.every : rules.types
        if types.contains(.number) { types.insert(.integer) }
        if let values = rules.values {
            let allowed = values.reduce(into: JSONSchema.Types()) { $0.formUnion(JSONSchema.Types(of: $1)) }
            types.formIntersection(allowed.contains(.number) ? allowed.union(.integer) : allowed)
        }
        guard let combination = rules.combination?.value else { return types }
        for schema in combination.allOf + (combination.reference.map { [$0] } ?? []) {
            types.formIntersection(self.types(of: schema, depth + 1, &looks))
        }
        for branches in [combination.anyOf, combination.oneOf] where !branches.isEmpty {
            var allowed = JSONSchema.Types()
            for branch in branches { allowed.formUnion(self.types(of: branch, depth + 1, &looks)) }
            types.formIntersection(allowed)
        }
        if rules.acceptsNull { types.insert(.null) }
        return types
    }
}
