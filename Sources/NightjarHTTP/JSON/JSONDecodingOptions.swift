/// Options for decoding JSON.
public struct JSONDecodingOptions: Sendable {
    /// How member names map to coding keys.
    public enum Names: Sendable {
        /// The names are equal.
        case useDefaultKeys
        /// `image_url` maps to `imageUrl`. Names in a dictionary are data and are not converted.
        case convertFromSnakeCase
        /// The result of a function of the member's path, whose last element is its own name.
        case custom(@Sendable (_ path: [any CodingKey]) -> any CodingKey)
    }

    public var names: Names
    /// The `userInfo` of the decoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    private var readings: [ObjectIdentifier: @Sendable (any Decoder) throws -> any Sendable] = [:]

    public init(names: Names = .useDefaultKeys) {
        self.names = names
    }

    /// A copy in which all values of one type are read by `read` instead of the type's `init(from:)`.
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
