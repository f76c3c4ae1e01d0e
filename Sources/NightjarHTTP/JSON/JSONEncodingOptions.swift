/// Options for encoding JSON.
public struct JSONEncodingOptions: Sendable {
    /// How coding keys map to member names.
    public enum Names: Sendable {
        /// The names are equal.
        case useDefaultKeys
        /// `imageUrl` becomes `image_url`. Names in a dictionary are data and are not converted.
        case convertToSnakeCase
        /// The result of a function of the member's path, whose last element is its own key.
        case custom(@Sendable (_ path: [any CodingKey]) -> any CodingKey)
    }

    public var names: Names
    /// The `userInfo` of the encoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    private var writings: [ObjectIdentifier: @Sendable (Any, any Encoder) throws -> Void] = [:]

    public init(names: Names = .useDefaultKeys) {
        self.names = names
    }

    /// A copy in which all values of one type are written by `write` instead of the type's `encode(to:)`.
    public func writing<Value: Sendable>(
        _ type: Value.Type, _ write: @escaping @Sendable (Value, any Encoder) throws -> Void
    ) -> JSONEncodingOptions {
        var options = self
        options.writings[ObjectIdentifier(type)] = { value, encoder in
            if let value = value as? Value { try write(value, encoder) }
        }
        return options
    }

    func writing<Value>(of type: Value.Type) -> (@Sendable (Any, any Encoder) throws -> Void)? {
        writings.isEmpty ? nil : writings[ObjectIdentifier(type)]
    }
}
