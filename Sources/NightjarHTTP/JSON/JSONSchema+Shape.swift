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
        let types = arena.types(of: root, JSONSchema.maximumLook)
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
        var known: Set<String> = []
        return arena.parts(of: root).flatMap { arena[$0].rules.properties }.compactMap { property in
            known.insert(property.name).inserted ? (property.name, JSONSchema(arena, property.schema)) : nil
        }
    }

    /// Of members that are not named; nil where nothing is told of them.
    public var otherProperties: JSONSchema? { first { $0.additional }.map { JSONSchema(arena, $0) } }

    /// Names that an object must have, through `$ref` and `allOf`.
    public var required: [String] {
        var known: Set<String> = []
        return arena.parts(of: root).flatMap { arena[$0].rules.required }.filter { known.insert($0).inserted }
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

    /// Schemas within each other for one value, that are looked at.
    fileprivate static let maximumLook = 32
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
    func types(of index: JSONSchema.Index, _ depth: Int) -> JSONSchema.Types {
        let rules = self[index].rules
        guard depth > 0, !rules.isNever else { return JSONSchema.Types.every }
        var types = rules.types.isEmpty ? JSONSchema.Types.every : rules.types
        if types.contains(.number) { types.insert(.integer) }
        if let values = rules.values {
            let told = values.reduce(into: JSONSchema.Types()) { $0.formUnion(JSONSchema.Types(of: $1)) }
            types.formIntersection(told.contains(.number) ? told.union(.integer) : told)
        }
        guard let combination = rules.combination?.value else { return types }
        if let reference = combination.reference { types.formIntersection(self.types(of: reference, depth - 1)) }
        // Wide lists within lists are looked at as far as there is something to gain.
        for schema in combination.allOf.prefix(64) { types.formIntersection(self.types(of: schema, depth - 1)) }
        for branches in [combination.anyOf, combination.oneOf] where !branches.isEmpty && branches.count <= 64 {
            let told = branches.reduce(into: JSONSchema.Types()) { $0.formUnion(self.types(of: $1, depth / 2)) }
            types.formIntersection(told)
        }
        if rules.acceptsNull { types.insert(.null) }
        return types
    }
}
