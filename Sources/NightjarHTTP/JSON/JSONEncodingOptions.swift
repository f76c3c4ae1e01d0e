/// How a value of a type becomes a JSON text.
public struct JSONEncodingOptions: Sendable {
    /// What members are called.
    public enum Names: Sendable {
        /// As the coding keys.
        case useDefaultKeys
        /// `imageUrl` becomes `image_url`. Not the names in a dictionary, which are data.
        case convertToSnakeCase
        /// What this makes of the member's path, its own key last.
        case custom(@Sendable (_ path: [any CodingKey]) -> any CodingKey)
    }

    public var names: Names
    /// What `encode(to:)` of a type finds in its encoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    private var writings: [ObjectIdentifier: @Sendable (Any, any Encoder) throws -> Void] = [:]

    public init(names: Names = .useDefaultKeys) {
        self.names = names
    }

    /// These, and values of one type written by `write` in place of the type's own `encode(to:)`, wherever they come.
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
