extension JSONSchema {
    /// Types of JSON that a schema lets through; empty: all of them.
    public struct Shape: OptionSet, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let null = Shape(rawValue: 1)
        public static let boolean = Shape(rawValue: 2)
        public static let integer = Shape(rawValue: 4)
        /// Also integers.
        public static let number = Shape(rawValue: 8)
        public static let string = Shape(rawValue: 16)
        public static let array = Shape(rawValue: 32)
        public static let object = Shape(rawValue: 64)
    }

    /// Through `$ref`, `allOf`, `anyOf` and `oneOf`, as far as types are told.
    public var shape: Shape { [] }

    /// `int64`, `binary`, whatever it is; through `$ref` and `allOf`.
    public var format: String? { nil }

    /// What the elements of an array are; nil where nothing is told of them.
    public var elements: JSONSchema? { nil }

    /// The named members of an object in the order of the document, through `$ref` and `allOf`.
    public var properties: [(name: String, schema: JSONSchema)] { [] }

    /// Whether it is a text of bytes that go as they are: format `binary`, or content of a media type that has no encoding.
    public var isBinary: Bool { false }
}
