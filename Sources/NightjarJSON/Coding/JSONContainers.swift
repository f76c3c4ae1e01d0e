/// The members of an object, for Codable. If a name repeats, the first member is used.
struct JSONMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let reader: JSONReader
    private let container: JSONPlace.Container
    private let members: [JSONValue.Member]
    /// The positions of the members by coding key. Nil if the coding keys equal the member names and there are at most
    /// 8 members, which are searched linearly.
    private let index: ExactDictionary<Int>?

    init(_ members: [JSONValue.Member], of reader: JSONReader) {
        self.reader = reader
        self.members = members
        container = JSONPlace.Container(reader.place)
        switch reader.options.names {
        case .useDefaultKeys:
            index = members.count <= 8 ? nil : JSONMembers.index(members) { $0 }
        case .convertFromSnakeCase:
            index = JSONMembers.index(members, JSONNames.camelCase)
        case .custom(let convert):
            let path = reader.codingPath
            index = JSONMembers.index(members) { convert(path + [JSONKey(stringValue: $0)]).stringValue }
        }
    }

    private static func index(
        _ members: [JSONValue.Member], _ convert: (String) -> String
    ) -> ExactDictionary<Int> {
        var index = ExactDictionary<Int>()
        for (place, member) in members.enumerated() {
            let name = convert(member.name)
            if index[name] == nil { index[name] = place }
        }
        return index
    }

    var codingPath: [any CodingKey] { reader.codingPath }

    var allKeys: [Key] {
        if let index { return index.all.sorted { $0.value < $1.value }.compactMap { Key(stringValue: $0.name) } }
        var names: [String] = []
        for member in members where !names.contains(where: { $0.isExactly(member.name) }) { names.append(member.name) }
        return names.compactMap { Key(stringValue: $0) }
    }

    func contains(_ key: Key) -> Bool { member(key.stringValue) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try reader(key, Never.self).decodeNil() }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try reader(key, type).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try reader(key, type).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try reader(key, type).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try reader(key, type).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try reader(key, type).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try reader(key, type).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try reader(key, type).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try reader(key, type).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try reader(key, type).decode(type) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try reader(key, type).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try reader(key, type).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try reader(key, type).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try reader(key, type).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try reader(key, type).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try reader(key, type).decode(type) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try reader(key, type).decode(type) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try reader(key, type).read(type)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try reader(key, [String: Any].self).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try reader(key, [Any].self).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { parent(JSONKey.parent) }
    func superDecoder(forKey key: Key) throws -> any Decoder { parent(key) }

    /// Returns a decoder for a superclass. The member may be missing because a superclass may decode nothing.
    private func parent(_ key: any CodingKey) -> JSONReader {
        let found = member(key.stringValue)
        return reader.at(.member(found?.name ?? key.stringValue), in: container, found?.value ?? .null)
    }

    private func member(_ name: String) -> JSONValue.Member? {
        guard let index else { return members.first { $0.name.isExactly(name) } }
        return index[name].map { members[$0] }
    }

    private func reader(_ key: Key, _ type: any Any.Type) throws -> JSONReader {
        if let member = member(key.stringValue) { return reader.at(.member(member.name), in: container, member.value) }
        let mismatch = JSONMismatch(
            path: reader.place.pointer.appending(key.stringValue), expected: JSONValue.phrase(for: type),
            found: "nothing")
        throw DecodingError.keyNotFound(
            key,
            DecodingError.Context(
                codingPath: codingPath, debugDescription: mismatch.description, underlyingError: mismatch))
    }
}

/// The elements of an array, for Codable.
struct JSONElements: UnkeyedDecodingContainer {
    private let reader: JSONReader
    private let container: JSONPlace.Container
    private let elements: [JSONValue]
    private(set) var currentIndex = 0

    init(_ elements: [JSONValue], of reader: JSONReader) {
        self.elements = elements
        self.reader = reader
        container = JSONPlace.Container(reader.place)
    }

    var codingPath: [any CodingKey] { reader.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        guard try next(Never.self).decodeNil() else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try take(type) { try $0.read(type) } }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try take([String: Any].self) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try take([Any].self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try take((any Decoder).self) { $0 } }

    /// Decodes the current element and advances. Does not advance if the element cannot be decoded.
    private mutating func take<Result>(
        _ type: any Any.Type, _ read: (JSONReader) throws -> Result
    ) throws -> Result {
        let result = try read(next(type))
        currentIndex += 1
        return result
    }

    private func next(_ type: any Any.Type) throws -> JSONReader {
        guard !isAtEnd else {
            let place = JSONPlace(.element(currentIndex), in: container)
            let mismatch = JSONMismatch(
                path: place.pointer, expected: JSONValue.phrase(for: type), found: "the end of the array")
            throw DecodingError.valueNotFound(
                type,
                DecodingError.Context(
                    codingPath: place.codingPath, debugDescription: mismatch.description, underlyingError: mismatch))
        }
        return reader.at(.element(currentIndex), in: container, elements[currentIndex])
    }
}
