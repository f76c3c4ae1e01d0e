extension JSONSchema {
    /// Types of JSON that a schema lets through; empty: all of them.
    public struct Shape: OptionSet, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let null = Shape(rawValue: 1)
        public static let boolean = Shape(rawValue: 2)
        /// Not told where ``number`` is.
        public static let integer = Shape(rawValue: 4)
        /// Also integers.
        public static let number = Shape(rawValue: 8)
        public static let string = Shape(rawValue: 16)
        public static let array = Shape(rawValue: 32)
        public static let object = Shape(rawValue: 64)
    }

    /// Through `$ref`, `allOf`, `anyOf` and `oneOf`, as far as types and values are told.
    public var shape: Shape {
        var looks = JSONSchema.maximumLooks
        let types = arena.types(of: root, 0, &looks)
        if types == Types.every { return [] }
        return Shape(rawValue: (types.contains(.number) ? types.subtracting(.integer) : types).rawValue)
    }

    /// `int64`, `binary`, whatever it is; through `$ref` and `allOf`, and where null is the only other choice.
    public var format: String? { first { $0.notice?.value.format } }

    /// What the elements of an array are; nil where nothing is told of them.
    public var elements: JSONSchema? { first { $0.items ?? $0.prefix.first }.map { JSONSchema(arena, $0) } }

    /// The named members of an object in the order of the document, through `$ref` and `allOf`. Of a name that is told twice
    /// the first counts.
    public var properties: [(name: String, schema: JSONSchema)] {
        var known = ExactSet()
        return arena.parts(of: root).flatMap { arena[$0].rules.properties }.compactMap { property in
            known.insert(property.name) ? (property.name, JSONSchema(arena, property.schema)) : nil
        }
    }

    /// Of members that are not named; nil where nothing is told of them.
    public var otherProperties: JSONSchema? { first { $0.additional }.map { JSONSchema(arena, $0) } }

    /// Names that an object must have, through `$ref` and `allOf`.
    public var required: [String] {
        var known = ExactSet()
        return arena.parts(of: root).flatMap { arena[$0].rules.required }.filter { known.insert($0) }
    }

    /// Whether it is a text of bytes that go as they are: format `binary`, or content of a media type without an encoding.
    public var isBinary: Bool {
        if format == "binary" { return true }
        return arena.parts(of: root).contains { part in
            guard let notice = arena[part].rules.notice?.value else { return false }
            return notice.mediaType != nil && notice.encoding == nil
        }
    }

    /// Whether only answers have it, or null would be sent in vain: `readOnly`.
    public var isReadOnly: Bool { arena.parts(of: root).contains { arena[$0].rules.isReadOnly } }

    /// Media type of the content of a text, `image/png`.
    public var mediaType: String? { first { $0.notice?.value.mediaType } }

    /// CommonMark.
    public var documentation: String? { first { $0.notice?.value.description } }

    public var defaultValue: JSONValue? { first { $0.notice?.value.defaultValue } }

    /// What the value must be one of; empty: nothing is told of that.
    public var values: [JSONValue] { first { $0.values } ?? [] }

    private func first<Value>(_ told: (Rules) -> Value?) -> Value? {
        for part in arena.parts(of: root) {
            if let value = told(arena[part].rules) { return value }
        }
        return nil
    }

    /// Schemas for one value that are looked at for its types, and how many within each other; the latter goes with the stack.
    fileprivate static let maximumLooks = 1_000
    fileprivate static let maximumLookDepth = 32
}

extension JSONSchema.Types {
    static let every: JSONSchema.Types = [.null, .boolean, .integer, .number, .string, .array, .object]

    /// What a value is of; a number without a fraction is also an integer.
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
    /// A schema, and those that say something of the same value in any case: by `$ref`, `allOf`, or as the only one beside
    /// null in `anyOf` or `oneOf`. The schema first.
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

    /// All types that a schema lets through, an integer with each number.
    ///
    /// - Parameter looks: left; without any, nothing is told of a schema. One within itself would take for ever.
    func types(of index: JSONSchema.Index, _ depth: Int, _ looks: inout Int) -> JSONSchema.Types {
        let rules = self[index].rules
        looks -= 1
        guard depth < JSONSchema.maximumLookDepth, looks > 0, !rules.isNever else { return JSONSchema.Types.every }
        var types = rules.types.isEmpty ? JSONSchema.Types.every : rules.types
        if types.contains(.number) { types.insert(.integer) }
        if let values = rules.values {
            let told = values.reduce(into: JSONSchema.Types()) { $0.formUnion(JSONSchema.Types(of: $1)) }
            types.formIntersection(told.contains(.number) ? told.union(.integer) : told)
        }
        guard let combination = rules.combination?.value else { return types }
        for schema in combination.allOf + (combination.reference.map { [$0] } ?? []) {
            types.formIntersection(self.types(of: schema, depth + 1, &looks))
        }
        for branches in [combination.anyOf, combination.oneOf] where !branches.isEmpty {
            var told = JSONSchema.Types()
            for branch in branches { told.formUnion(self.types(of: branch, depth + 1, &looks)) }
            types.formIntersection(told)
        }
        if rules.acceptsNull { types.insert(.null) }
        return types
    }
}
