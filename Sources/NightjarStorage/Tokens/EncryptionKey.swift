import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// A 32-byte key with which a store encrypts its logins. Its description does not reveal the key.
public struct EncryptionKey: Sendable, CustomStringConvertible, CustomReflectable {
    let bytes: [UInt8]

    /// Reads a key from a file.
    ///
    /// - Parameter path: a file readable only by its owner, with 32 bytes, or with their hexadecimal or Base64
    ///   encoding.
    public init(file path: String) throws(NightjarError) {
        guard let content = try PrivateFile(path, "key file").read(atMost: EncryptionKey.longestText) else {
            throw NightjarError(
                .storage,
                "the key file \(quoted(path)) does not exist; create it: (umask 077; openssl rand -hex 32 >\(quoted(path)))"
            )
        }
        guard let bytes = content.count == AEAD.keySize ? content : EncryptionKey.parse(content) else {
            throw NightjarError(
                .storage, "the key file \(quoted(path)) must contain 32 bytes, or their hexadecimal or Base64 encoding")
        }
        self.bytes = bytes
    }

    /// Reads a key from an environment variable.
    ///
    /// - Parameter name: the name of an environment variable with 32 bytes in hexadecimal or Base64.
    public init(variable name: String) throws(NightjarError) {
        guard let text = getenv(name) else {
            throw NightjarError(
                .storage, "the environment variable \(quoted(name)), which must contain the key, is not set")
        }
        guard let bytes = EncryptionKey.parse(Array(String(cString: text).utf8)) else {
            throw NightjarError(
                .storage, "the environment variable \(quoted(name)) must contain 32 bytes in hexadecimal or Base64")
        }
        self.bytes = bytes
    }

    /// Creates a key. Returns nil if `bytes` does not have exactly 32 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == AEAD.keySize else { return nil }
        self.bytes = bytes
    }

    public var description: String { "key ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Identifies the key without revealing it.
    var fingerprint: [UInt8] { Array(Digest.sha256(Array("nightjar token key\0".utf8) + bytes).prefix(8)) }

    /// The maximum size of a key file in bytes: the encoded key and surrounding white space.
    private static let longestText = 256

    // MARK: Text

    private static func parse(_ text: [UInt8]) -> [UInt8]? {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || 0x09...0x0D ~= $0 }
        let digits = text.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
        return digits.count == AEAD.keySize * 2 ? Hexadecimal.decode(Array(digits)) : base64(Array(digits))
    }

    /// Decodes a key in Base64 (RFC 4648 sections 4 and 5): 43 characters, with or without padding.
    ///
    /// Unlike ``Base64``, ignores the unused bits of the last character, because a user may have chosen 43 random
    /// characters as a key.
    private static func base64(_ digits: [UInt8]) -> [UInt8]? {
        let padding = UInt8(ascii: "=")
        let digits = digits.count == 44 && digits.last == padding ? digits.dropLast() : digits[...]
        guard digits.count == 43 else { return nil }
        var bytes: [UInt8] = []
        var (group, count) = (0, 0)
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
            case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
            case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
            default: return nil
            }
            (group, count) = ((group << 6 | Int(value)) & 0x3FFF, count + 6)
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> count))
            }
        }
        return bytes
    }
}
