/// The location of a value in a JSON document: `/results/0/title`. RFC 6901.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// Member names and element indices from the outside in, unescaped. Empty: the whole document.
    public private(set) var tokens: [String]

    public init(tokens: [String] = []) { self.tokens = tokens }

    /// Compares code points (section 4), not Swift's canonical equivalence.
    public static func == (a: JSONPointer, b: JSONPointer) -> Bool {
        a.tokens.elementsEqual(b.tokens) { $0.isExactly($1) }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(tokens.count)
        for token in tokens { token.hashExactly(into: &hasher) }
    }

    /// - Throws: `invalid_argument` with a hint.
    public init(_ text: String) throws(NightjarError) {
        tokens = []
        guard !text.isEmpty else { return }
        guard text.utf8.first == UInt8(ascii: "/") else {
            throw NightjarError(
                .invalidArgument, "the JSON Pointer \(quoted(text)) must be empty or begin with /, such as \"/items/0\""
            )
        }
        for token in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let plain = JSONPointer.unescaped(token) else {
                throw NightjarError(
                    .invalidArgument,
                    "the JSON Pointer \(quoted(text)) has a ~ without 0 or 1 after it; write ~ as ~0 and / as ~1")
            }
            tokens.append(plain)
        }
    }

    /// The value at this location. Nil if there is none. If an object has duplicate names, the first member is used.
    public func value(in document: JSONValue) -> JSONValue? {
        var value = document
        for token in tokens {
            switch value {
            case .object(let members):
                // Compares bytes (section 4), because Swift considers different encodings of an accent equal.
                guard let member = members.first(where: { $0.name.isExactly(token) }) else { return nil }
                value = member.value
            case .array(let elements):
                guard let index = JSONPointer.index(token), index < elements.count else { return nil }
                value = elements[index]
            default: return nil
            }
        }
        return value
    }

    /// The pointer to a member or element of the value at this location.
    public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

    public var description: String { tokens.map { "/" + JSONPointer.escaped($0) }.joined() }

    /// Section 4: digits without a leading zero. `-`, the position after the last element, has no value.
    static func index(_ token: String) -> Int? {
        guard !token.isEmpty, token.utf8.allSatisfy(ASCII.isDigit) else { return nil }
        guard token.utf8.first != UInt8(ascii: "0") || token.utf8.count == 1 else { return nil }
        return Int(token)
    }

    /// Decodes the escapes of a token. Section 3. Nil for an invalid escape.
    private static func unescaped(_ token: Substring.UTF8View) -> String? {
        guard token.contains(UInt8(ascii: "~")) else { return String(Substring(token)) }
        var bytes: [UInt8] = []
        var rest = token
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func escaped(_ token: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(token.utf8.count)
        for byte in token.utf8 {
            switch byte {
            case UInt8(ascii: "~"): bytes += "~0".utf8
            case UInt8(ascii: "/"): bytes += "~1".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
