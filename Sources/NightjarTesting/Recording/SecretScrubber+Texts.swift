import NIOCore
import NightjarHTTP
import NightjarSystem

// Replaces texts in recorded exchanges.

extension JSONValue {
    var numberText: String? {
        switch self {
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        default: nil
        }
    }
}

extension RecordedBody {
    /// Applies `change` to the names, strings and numbers of JSON, or to a whole text.
    func mapTexts(_ change: (String) -> String) -> RecordedBody {
        switch self {
        case .none, .omitted, .binary: return self
        case .text(let text): return .text(change(text))
        case .json(let value):
            // A secret may contain characters that JSON escapes, so that its encoded form differs from the secret.
            let mapped = value.mapTexts(change)
            // The encoded text is changed, too, because its nesting depth does not matter.
            guard let encoded = try? mapped.encoded() else { return .json(mapped) }
            let text = String(buffer: encoded)
            let changed = change(text)
            guard changed != text else { return .json(mapped) }
            // The result is not JSON if, for example, a number was replaced.
            return .json((try? JSONValue(parsing: changed)) ?? mapped)
        }
    }
}

extension JSONValue {
    /// Applies `change` to names, strings and integers. An integer that changes becomes a string.
    func mapTexts(_ change: (String) -> String, depth: Int = 0) -> JSONValue {
        guard depth < SecretScrubber.maximumDepth else { return self }
        switch self {
        case .string(let text): return .string(change(text))
        case .array(let elements): return .array(elements.map { $0.mapTexts(change, depth: depth + 1) })
        case .object(let members):
            return .object(members.map { .init(change($0.name), $0.value.mapTexts(change, depth: depth + 1)) })
        default:
            guard let number = numberText else { return self }
            let changed = change(number)
            return changed == number ? self : .string(changed)
        }
    }
}

extension String {
    func replacing(_ old: String, by new: String) -> String {
        var (text, old) = (self, old)
        let result = text.withUTF8 { text in
            old.withUTF8 { old -> [UInt8]? in
                var rest = UnsafeRawBufferPointer(text)
                guard var found = rest.place(of: UnsafeRawBufferPointer(old)) else { return nil }
                var result: [UInt8] = []
                while true {
                    result += rest[..<found]
                    result += new.utf8
                    rest = UnsafeRawBufferPointer(rebasing: rest[(found + old.count)...])
                    guard let next = rest.place(of: UnsafeRawBufferPointer(old)) else { break }
                    found = next
                }
                return result + rest
            }
        }
        return result.map { String(decoding: $0, as: UTF8.self) } ?? self
    }

    /// Replaces each name of a scrubbed secret with `mask`.
    func replacingScrubbedNames(by mask: String) -> String {
        let pieces = SecretScrubber.split(self)
        guard pieces.count > 1 else { return self }
        var result = String(pieces[0])
        for piece in pieces.dropFirst() {
            let rest = piece.utf8.drop { $0 &- UInt8(ascii: "0") < 10 }
            result += (rest.startIndex == piece.startIndex ? SecretScrubber.prefix : mask) + String(Substring(rest))
        }
        return result
    }
}

extension SecretScrubber {
    /// Returns the text before the first name of a secret, and the text after the prefix of each name.
    static func split(_ text: String) -> [String] {
        var (text, prefix) = (text, prefix)
        return text.withUTF8 { text in
            prefix.withUTF8 { prefix in
                var pieces: [String] = []
                var rest = UnsafeRawBufferPointer(text)
                while let place = rest.place(of: UnsafeRawBufferPointer(prefix)) {
                    pieces.append(String(decoding: rest[..<place], as: UTF8.self))
                    rest = UnsafeRawBufferPointer(rebasing: rest[(place + prefix.count)...])
                }
                return pieces + [String(decoding: rest, as: UTF8.self)]
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the offset of the first occurrence of `bytes`.
    func place(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard let wanted = bytes.baseAddress, let first = bytes.first else { return nil }
        var place = 0
        while place + bytes.count <= count, let start = baseAddress {
            guard let found = memchr(start + place, Int32(first), count - place - bytes.count + 1) else { return nil }
            place = UnsafeRawPointer(found) - start
            if memcmp(start + place, wanted, bytes.count) == 0 { return place }
            place += 1
        }
        return nil
    }
}
