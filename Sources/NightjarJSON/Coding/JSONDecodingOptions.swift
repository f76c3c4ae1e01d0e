/// Options for decoding a type from JSON.
public struct JSONDecodingOptions: Sendable {
    /// The mapping of member names to coding keys.
    public enum Names: Sendable {
        /// The coding key equals the member name.
        case useDefaultKeys
        /// `image_url` is mapped to `imageUrl`. Keys of dictionaries are data and stay unchanged.
        case convertFromSnakeCase
        /// The closure receives the path of the member, which ends with the member's name, and returns the coding key.
        case custom(@Sendable (_ path: [any CodingKey]) -> any CodingKey)
    }

    public var names: Names
    /// The `userInfo` of the decoder that `init(from:)` receives.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    private var readings: [ObjectIdentifier: @Sendable (any Decoder) throws -> any Sendable] = [:]

    public init(names: Names = .useDefaultKeys) {
        self.names = names
    }

    /// Returns a copy that decodes each value of `type` with `read` instead of the type's own `init(from:)`.
    public func reading<Value: Sendable>(
        _ type: Value.Type, _ read: @escaping @Sendable (any Decoder) throws -> Value
    ) -> JSONDecodingOptions {
        var options = self
        options.readings[ObjectIdentifier(type)] = { try read($0) }
        return options
    }

    func reading<Value>(of type: Value.Type) -> (@Sendable (any Decoder) throws -> any Sendable)? {
        readings.isEmpty ? nil : readings[ObjectIdentifier(type)]
    }
}
