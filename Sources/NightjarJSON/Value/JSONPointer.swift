/// A JSON Pointer, the address of a value in a JSON document: `/results/0/title`. RFC 6901.
public struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    /// The position of a value in a JSON document: a ``JSONPointer``, or its text.
    public typealias Location = JSONLocation

    /// Unescaped member names and element positions, outermost first. Empty for the whole document.
    public private(set) var tokens: [String]

    public init(tokens: [String] = []) { self.tokens = tokens }

    /// Compares by code points (RFC 6901 section 4), not by Swift's canonical equivalence.
    public static func == (a: JSONPointer, b: JSONPointer) -> Bool {
        a.tokens.elementsEqual(b.tokens) { $0.isExactly($1) }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(tokens.count)
        for token in tokens { token.hashExactly(into: &hasher) }
    }

    /// Parses a JSON Pointer.
    ///
    /// - Throws: `invalid_argument` if `text` is not a JSON Pointer.
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
                    "the JSON Pointer \(quoted(text)) has a ~ that is not followed by 0 or 1; write ~ as ~0 and / as ~1"
                )
            }
            tokens.append(plain)
        }
    }

    /// Returns the value at the pointer, or nil if `document` has no value there. If a name repeats, the first member
    /// is used.
    public func value(in document: JSONValue) -> JSONValue? {
        var value = document
        for token in tokens {
            switch value {
            case .object(let members):
                // Compare byte by byte (RFC 6901 section 4): Swift treats canonically equivalent texts as equal.
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

    /// Returns the pointer to a member or an element of the value at this pointer.
    public func appending(_ token: String) -> JSONPointer { JSONPointer(tokens: tokens + [token]) }

    public var description: String { tokens.map { "/" + JSONPointer.escaped($0) }.joined() }

    /// Reads an array index: digits without a leading zero. Returns nil for `-`, which means the position after the
    /// last element. RFC 6901 section 4.
    package static func index(_ token: String) -> Int? {
        guard !token.isEmpty, token.utf8.allSatisfy(ASCII.isDigit) else { return nil }
        guard token.utf8.first != UInt8(ascii: "0") || token.utf8.count == 1 else { return nil }
        return Int(token)
    }

    /// Decodes the escapes of a token. Returns nil for an invalid escape. RFC 6901 section 3.
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
