/// A digest that the content of a file must have.
public struct Checksum: Sendable, Equatable, CustomStringConvertible {
    public enum Algorithm: String, Sendable, CaseIterable {
        case md5, sha1, sha256, sha384, sha512

        /// The length of the digest in bytes.
        package var length: Int {
            switch self {
            case .md5: 16
            case .sha1: 20
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }
    }

    public let algorithm: Algorithm
    package let digest: [UInt8]

    package init(_ algorithm: Algorithm, _ digest: [UInt8]) {
        self.algorithm = algorithm
        self.digest = digest
    }

    /// Parses `sha256:` and the digest in hexadecimal or base64. The algorithms are md5, sha1, sha256, sha384 and sha512.
    ///
    /// - Throws: `invalid_argument`.
    public init(_ text: String) throws(NightjarError) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let algorithm = Algorithm(rawValue: String(text[..<colon]).lowercased())
        else {
            throw NightjarError(
                .invalidArgument,
                "checksum must be an algorithm (md5, sha1, sha256, sha384 or sha512), a colon and the digest in "
                    + "hexadecimal, got \(quoted(text))")
        }
        let value = text[text.utf8.index(after: colon)...].utf8
        let digest = value.count == 2 * algorithm.length ? Hexadecimal.decode(value) : Base64.decode(value)
        guard let digest, digest.count == algorithm.length else {
            throw NightjarError(
                .invalidArgument,
                "checksum must have \(2 * algorithm.length) hexadecimal digits after \(quoted(algorithm.rawValue + ":"))"
                    + ", got \(quoted(text))")
        }
        self.init(algorithm, digest)
    }

    /// Reads a Repr-Digest or Content-Digest field (RFC 9530). Returns its strongest digest, or nil if the field is
    /// missing, invalid or has only unknown algorithms.
    package init?(_ headers: Headers, field: String) {
        var strongest: Checksum?
        for value in headers.values(field) {
            for member in value.split(separator: ",") {
                guard let found = Checksum(member: member) else { continue }
                if found.digest.count > strongest?.digest.count ?? 0 { strongest = found }
            }
        }
        guard let strongest else { return nil }
        self = strongest
    }

    /// Reads `sha-256=:BASE64:`, a member of a dictionary of byte sequences (RFC 9651).
    private init?(member: Substring) {
        let text = ASCII.trimmed(Array(member.utf8))
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let algorithm: Algorithm
        switch String(decoding: text[..<equals], as: UTF8.self) {
        case "sha-256": algorithm = .sha256
        case "sha-512": algorithm = .sha512
        default: return nil
        }
        var value = text[(equals + 1)...]
        guard value.popFirst() == UInt8(ascii: ":"), let end = value.firstIndex(of: UInt8(ascii: ":")),
            let digest = Base64.decode(value[..<end]), digest.count == algorithm.length
        else { return nil }
        self.init(algorithm, digest)
    }

    public var description: String { "\(algorithm.rawValue):\(Hexadecimal.encode(digest))" }
}
