/// The address of a value inside of a JSON document: `/results/0/title`. RFC 6901.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// Names of members and numbers of elements from the outside in, without escapes; empty: the whole document.
    public private(set) var tokens: [String]

    public init(tokens: [String] = []) { self.tokens = tokens }

    /// By code points (section 4), and not by Swift's canonical equivalence.
    public static func == (a: JSONPointer, b: JSONPointer) -> Bool {
        a.tokens.elementsEqual(b.tokens) { $0.isExactly($1) }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(tokens.count)
        for token in tokens { token.hashExactly(into: &hasher) }
    }

    /// - Throws: `invalid_argument`, saying what to write instead.
    public init(_ text: String) throws(NightjarError) {
        tokens = []
        guard !text.isEmpty else { return }
        guard text.utf8.first == UInt8(ascii: "/") else {
            throw NightjarError(
                .invalidArgument, "the JSON Pointer \(quoted(text)) must be empty or begin with /, as in \"/items/0\"")
        }
        for token in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let plain = JSONPointer.unescaped(token) else {
                throw NightjarError(
                    .invalidArgument,
                    "the JSON Pointer \(quoted(text)) has a ~ without 0 or 1 behind it; ~ is written ~0, and / is ~1")
            }
            tokens.append(plain)
        }
    }

    /// The value it points to; nil where there is none. Of members of the same name it is the first.
    public func value(in document: JSONValue) -> JSONValue? {
        var value = document
        for token in tokens {
            switch value {
            case .object(let members):
                // Byte by byte (section 4): for Swift two ways to write an accent are the same text.
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

    /// The pointer of a member or an element of what this one points to.
    public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

    public var description: String { tokens.map { "/" + JSONPointer.escaped($0) }.joined() }

    /// Section 4: digits without a leading zero. `-`, the place behind the last element, holds no value.
    static func index(_ token: String) -> Int? {
        guard !token.isEmpty, token.utf8.allSatisfy(ASCII.isDigit) else { return nil }
        guard token.utf8.first != UInt8(ascii: "0") || token.utf8.count == 1 else { return nil }
        return Int(token)
    }

    /// Section 3; nil for an escape that there is not.
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
