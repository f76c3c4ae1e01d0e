/// Encodes an `Encodable` as a JSON value. If a name is encoded twice, the second value replaces the first.
///
/// The encoder throws `EncodingError`s, as Codable requires. ``JSONValue/init(encoding:_:)`` converts them to
/// ``NightjarError``s.
struct JSONBuilder: Encoder {
    /// The maximum nesting of containers. Stops the recursion of a class instance that contains itself.
    static let maximumDepth = 512

    /// A value under construction. Codable's containers fill it after the function that created them has returned.
    final class Node {
        fileprivate enum Content {
            case nothing
            case value(JSONValue)
            case elements([Node])
            case members([(name: String, node: Node)], index: ExactDictionary<Int>?)
        }

        fileprivate var content = Content.nothing

        /// The finished value. An empty object if the type encoded nothing.
        var value: JSONValue {
            switch content {
            case .nothing: .object([])
            case .value(let value): value
            case .elements(let nodes): .array(nodes.map(\.value))
            case .members(let members, _): .object(members.map { JSONValue.Member($0.name, $0.node.value) })
            }
        }

        /// The maximum number of members that are searched linearly. A linear search of few members is faster than an
        /// index.
        private static let fewMembers = 16

        var count: Int { if case .elements(let nodes) = content { nodes.count } else { 0 } }

        func beginElements() {
            if case .elements = content { return }
            content = .elements([])
        }

        func beginMembers() {
            if case .members = content { return }
            content = .members([], index: nil)
        }

        func append(_ node: Node) {
            guard case .elements(var nodes) = content else { return }
            content = .nothing  // avoids a copy of the array
            nodes.append(node)
            content = .elements(nodes)
        }

        func set(_ name: String, _ node: Node) {
            guard case .members(var members, var index) = content else { return }
            content = .nothing
            if let known = index.map({ $0[name] }) ?? members.firstIndex(where: { $0.name.isExactly(name) }) {
                members[known].node = node
            } else {
                members.append((name, node))
                if index != nil {
                    index?[name] = members.count - 1
                } else if members.count > Node.fewMembers {
                    var places = ExactDictionary<Int>()
                    for (place, member) in members.enumerated() { places[member.name] = place }
                    index = places
                }
            }
            content = .members(members, index: index)
        }
    }

    let node: Node
    let place: JSONPlace
    let options: JSONEncodingOptions

    var codingPath: [any CodingKey] { place.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.beginMembers()
        return KeyedEncodingContainer(JSONMemberBuilder<Key>(self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.beginElements()
        return JSONElementBuilder(self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// Encodes a value with the closure that the options contain for its type, or else with the type's own
    /// `encode(to:)`.
    func write<Value: Encodable>(_ value: Value) throws {
        guard place.depth <= JSONBuilder.maximumDepth else {
            throw error(value, "the value has more than \(JSONBuilder.maximumDepth) levels")
        }
        if let write = options.writing(of: Value.self) {
            try write(value, self)
        } else if let value = value as? JSONValue {
            // Store a JSON value directly instead of encoding it through Codable.
            node.content = .value(value)
        } else if let value = value as? any NamedCoding {
            try value.encode(plainly: self)
        } else {
            try value.encode(to: self)
        }
    }

    func at(_ step: JSONPlace.Step, in container: JSONPlace.Container, _ node: Node) -> JSONBuilder {
        JSONBuilder(node: node, place: JSONPlace(step, in: container), options: options)
    }

    func error(_ value: Any, _ problem: String) -> EncodingError {
        EncodingError.invalidValue(
            value, EncodingError.Context(codingPath: codingPath, debugDescription: problem))
    }
}

extension JSONBuilder: SingleValueEncodingContainer {
    func encodeNil() { node.content = .value(.null) }
    func encode(_ value: Bool) { node.content = .value(.bool(value)) }
    func encode(_ value: String) { node.content = .value(.string(value)) }
    func encode(_ value: Double) throws { try write(number: value, value) }
    func encode(_ value: Float) throws { try write(number: Double(String(value)) ?? Double(value), value) }
    func encode(_ value: Int) throws { try write(integer: value) }
    func encode(_ value: Int8) throws { try write(integer: value) }
    func encode(_ value: Int16) throws { try write(integer: value) }
    func encode(_ value: Int32) throws { try write(integer: value) }
    func encode(_ value: Int64) throws { try write(integer: value) }
    func encode(_ value: Int128) throws { try write(integer: value) }
    func encode(_ value: UInt) throws { try write(integer: value) }
    func encode(_ value: UInt8) throws { try write(integer: value) }
    func encode(_ value: UInt16) throws { try write(integer: value) }
    func encode(_ value: UInt32) throws { try write(integer: value) }
    func encode(_ value: UInt64) throws { try write(integer: value) }
    func encode(_ value: UInt128) throws { try write(integer: value) }
    func encode<Value: Encodable>(_ value: Value) throws { try write(value) }

    private func write<Integer: FixedWidthInteger>(integer: Integer) throws {
        if let number = Int64(exactly: integer) {
            node.content = .value(.integer(number))
        } else if let number = UInt64(exactly: integer) {
            node.content = .value(.unsigned(number))
        } else {
            throw error(integer, "the integer has more than 64 bits, so many JSON readers would round it")
        }
    }

    private func write(number: Double, _ value: Any) throws {
        guard number.isFinite else { throw error(value, "JSON cannot represent \(number)") }
        node.content = .value(.number(number))
    }
}

/// The members of an object under construction.
private struct JSONMemberBuilder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let builder: JSONBuilder
    private let container: JSONPlace.Container

    init(_ builder: JSONBuilder) {
        self.builder = builder
        container = JSONPlace.Container(builder.place)
    }

    var codingPath: [any CodingKey] { builder.codingPath }

    func encodeNil(forKey key: Key) { member(key).encodeNil() }
    func encode(_ value: Bool, forKey key: Key) { member(key).encode(value) }
    func encode(_ value: String, forKey key: Key) { member(key).encode(value) }
    func encode(_ value: Double, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Float, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int8, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int16, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int32, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int64, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: Int128, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt8, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt16, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt32, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt64, forKey key: Key) throws { try member(key).encode(value) }
    func encode(_ value: UInt128, forKey key: Key) throws { try member(key).encode(value) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try member(key).write(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> { member(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { member(JSONKey.parent) }
    func superEncoder(forKey key: Key) -> any Encoder { member(key) }

    private func member(_ key: any CodingKey) -> JSONBuilder {
        let name =
            switch builder.options.names {
            case .useDefaultKeys: key.stringValue
            case .convertToSnakeCase: JSONNames.snakeCase(key.stringValue)
            case .custom(let convert): convert(builder.codingPath + [key]).stringValue
            }
        let node = JSONBuilder.Node()
        builder.node.set(name, node)
        return builder.at(.member(name), in: container, node)
    }
}

/// The elements of an array under construction.
private struct JSONElementBuilder: UnkeyedEncodingContainer {
    private let builder: JSONBuilder
    private let container: JSONPlace.Container

    init(_ builder: JSONBuilder) {
        self.builder = builder
        container = JSONPlace.Container(builder.place)
    }

    var codingPath: [any CodingKey] { builder.codingPath }
    var count: Int { builder.node.count }

    func encodeNil() { element().encodeNil() }
    func encode<Value: Encodable>(_ value: Value) throws { try element().write(value) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        element().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
    func superEncoder() -> any Encoder { element() }

    private func element() -> JSONBuilder {
        let node = JSONBuilder.Node()
        defer { builder.node.append(node) }
        return builder.at(.element(count), in: container, node)
    }
}

/// A dictionary with string keys. The keys are data, so no naming strategy is applied. The keys are sorted, so equal
/// dictionaries produce equal bodies.
private protocol NamedCoding {
    func encode(plainly builder: JSONBuilder) throws
}

extension Dictionary: NamedCoding where Key == String, Value: Encodable {
    fileprivate func encode(plainly builder: JSONBuilder) throws {
        builder.node.beginMembers()
        let container = JSONPlace.Container(builder.place)
        for (name, value) in sorted(by: { $0.key < $1.key }) {
            let node = JSONBuilder.Node()
            builder.node.set(name, node)
            try builder.at(.member(name), in: container, node).write(value)
        }
    }
}

extension JSONValue {
    /// Encodes `value`. A synthesized `encode(to:)` omits optionals that are nil. ``Null`` and ``JSONValue/null`` are
    /// encoded as null.
    ///
    /// - Throws: `invalid_request` with the path and the reason. A ``NightjarError`` that a type's `encode(to:)` throws
    ///   is thrown unchanged.
    public init<Value: Encodable>(
        encoding value: Value, _ options: JSONEncodingOptions = .init()
    ) throws(NightjarError) {
        let node = JSONBuilder.Node()
        do {
            try JSONBuilder(node: node, place: .root, options: options).write(value)
        } catch {
            throw NightjarError(writing: error)
        }
        self = node.value
    }
}

extension NightjarError {
    /// Wraps an error that a type's `encode(to:)` threw.
    fileprivate init(writing error: any Error) {
        switch error {
        case let error as NightjarError: self = error
        case EncodingError.invalidValue(_, let context):
            let problem = JSONMismatch.describe(
                NightjarError.line(context.debugDescription), at: JSONPointer(context.codingPath))
            self.init(.invalidRequest, "the value cannot be written as JSON: \(problem)")
        default:
            self.init(
                .invalidRequest, "the value cannot be written as JSON: \(NightjarError.line(String(describing: error)))"
            )
        }
    }
}
