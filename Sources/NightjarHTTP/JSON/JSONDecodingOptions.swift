/// How a JSON answer becomes a value of a type.
public struct JSONDecodingOptions: Sendable {
    /// Which member belongs to which coding key.
    public enum Names: Sendable {
        /// That of the same name.
        case useDefaultKeys
        /// `image_url` belongs to `imageUrl`. Not for the names in a dictionary, which are data.
        case convertFromSnakeCase
        /// What this makes of the member's path, its own name last.
        case custom(@Sendable (_ path: [any CodingKey]) -> any CodingKey)
    }

    public var names: Names
    /// What `init(from:)` of a type finds in its decoder.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
    private var readings: [ObjectIdentifier: @Sendable (any Decoder) throws -> any Sendable] = [:]

    public init(names: Names = .useDefaultKeys) {
        self.names = names
    }

    /// These, and values of one type read by `read` in place of the type's own `init(from:)`, wherever they come.
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
