/// Options for encoding a value as JSON.
public struct JSONEncodingOptions: Sendable {
    /// The mapping of coding keys to member names.
    public enum Names: Sendable {
        /// The member name equals the coding key.
        case useDefaultKeys
        /// `imageUrl` is mapped to `image_url`. Keys of dictionaries are data and stay unchanged.
        case convertToSnakeCase
        /// The closure receives the path of the member, which ends with the coding key, and returns the member name.
        case custom(@Sendable (_ path: [any CodingKey]) -> any CodingKey)
    }

    public var names: Names
    /// The `userInfo` of the encoder that `encode(to:)` receives.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    private var writings: [ObjectIdentifier: @Sendable (Any, any Encoder) throws -> Void] = [:]

    public init(names: Names = .useDefaultKeys) {
        self.names = names
    }

    /// Returns a copy that encodes each value of `type` with `write` instead of the type's own `encode(to:)`.
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
