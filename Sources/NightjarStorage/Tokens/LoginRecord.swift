import NightjarCrypto
import NightjarHTTP

/// Encodes and decodes a login, or the tombstone of a logout. Any changed byte is detected.
///
///     0   8  "NJLOGIN\n"
///     8   1  version, 2
///     9   1  encryption: 0 none, 1 AES-256-GCM
///     10  2  zero
///     12  4  total length
///     16  8  fingerprint of the key; zero without a key
///     24     not encrypted: the fields, padding, and the SHA-256 of all preceding bytes
///            encrypted: a nonce, the encrypted fields and padding, and an authentication tag;
///            the associated data is the first 24 bytes and the place of the record
///
/// A field is a tag, a length of four bytes and its bytes. Numbers are big-endian. The place is the path and, in a
/// database, the account: an encrypted record that is copied to another path or account cannot be decrypted there.
enum LoginRecord {
    /// The reason why a record cannot be decoded.
    enum Failure: Error, Equatable {
        case foreign, newer(UInt8), older(UInt8), damaged, notAuthentic, otherKey, needsKey, notEncrypted

        /// The message for a store with a path. Completes the sentence `the token file "name" …`.
        var fileReason: String {
            switch self {
            case .foreign: "is not a token store and was not changed; use another path, or move it away"
            case .newer(let version):
                "has version \(version), written by a later release; this release supports up to version \(LoginRecord.version)"
            case .older(let version):
                "has version \(version), written by an earlier release; move it away and log in again"
            case .notAuthentic:
                "cannot be decrypted: it is damaged or was copied from another path or account; move it away and log in again"
            case .damaged: "is damaged; move it away and log in again"
            case .otherKey: "is encrypted with a different key; set the key that encrypted it"
            case .needsKey: "is encrypted, but no key is set; set the key that encrypted it"
            case .notEncrypted: "is not encrypted, but a key is set; move it away and log in again"
            }
        }

        /// The message for a keyring, which has no path and whose items are decoded without a key. Completes the
        /// sentence `the token keyring (service "name", account "name") …`.
        var keyringReason: String {
            let removal = "remove the item with the desktop's password manager"
            return switch self {
            case .foreign:
                "contains an item that is not a login and was not changed; use another service or account, or \(removal)"
            case .newer(let version):
                "contains a login of version \(version), written by a later release; this release supports up to version \(LoginRecord.version)"
            case .older(let version):
                "contains a login of version \(version), written by an earlier release; \(removal) and log in again"
            case .damaged, .notEncrypted: "contains a damaged login; \(removal) and log in again"
            case .needsKey, .otherKey, .notAuthentic:
                "contains an encrypted login, which a keyring does not support; \(removal) and log in again"
            }
        }
    }

    private enum Field: UInt8 {
        case padding = 0, generation, access, refresh, type, expiry, scope, pendingKey, pendingBegan, lineage
        case ending, configured
    }

    private static let magic = Array("NJLOGIN\n".utf8)
    private static let version: UInt8 = 2
    private static let headerSize = 24
    /// The size of a digest in bytes. A nonce and an authentication tag together are 4 bytes shorter.
    private static let overhead = 32
    /// The maximum size of a record in bytes. No token is this long.
    static let largestSize = 1 << 20

    // MARK: Writing

    /// Encodes a login.
    ///
    /// - Parameter place: the associated data of an encrypted record.
    /// - Returns: nil if the record would be longer than ``largestSize`` or cannot be encrypted.
    static func encode(_ login: StoredLogin, key: EncryptionKey?, place: String) -> [UInt8]? {
        var body = fields(login)
        let size = paddedSize(headerSize + overhead + body.count)
        guard size <= largestSize else { return nil }
        body += [UInt8](repeating: Field.padding.rawValue, count: size - headerSize - overhead - body.count)
        if key != nil { body += [0, 0, 0, 0] }
        var record = magic + [version, key == nil ? 0 : 1, 0, 0]
        record.append(bigEndian: UInt32(size))
        record += key?.fingerprint ?? [UInt8](repeating: 0, count: 8)
        guard let key else {
            record += body
            return record + Digest.sha256(record)
        }
        let nonce = SecureRandom.bytes(AEAD.nonceSize)
        guard let sealed = AEAD.seal(body, key: key.bytes, nonce: nonce, context: record + place.utf8) else {
            return nil
        }
        return record + nonce + sealed
    }

    /// Adds a quarter and 1 KiB for longer tokens, and rounds up to a multiple of 4096 bytes.
    ///
    /// The record saved before a token refresh is therefore usually as large as the record saved afterwards. A full
    /// disk is detected before the refresh token is used.
    private static func paddedSize(_ size: Int) -> Int { (size + size / 4 + 1024 + 4095) / 4096 * 4096 }

    private static func fields(_ login: StoredLogin) -> [UInt8] {
        var bytes: [UInt8] = []
        func put(_ field: Field, _ value: [UInt8]) {
            bytes.append(field.rawValue)
            bytes.append(bigEndian: UInt32(clamping: value.count))
            bytes += value
        }
        put(.generation, [UInt8](bigEndian: login.generation))
        put(.lineage, [UInt8](bigEndian: login.lineage))
        if let token = login.token {
            put(.access, Array(token.access.utf8))
            if let refresh = token.refresh { put(.refresh, Array(refresh.utf8)) }
            put(.type, Array(token.type.utf8))
            if let expiry = token.expiry { put(.expiry, bytesOf(expiry)) }
            if let scope = token.scope { put(.scope, Array(scope.utf8)) }
        }
        if let ending = login.ending { put(.ending, [ending.rawValue]) }
        if let configured = login.configured { put(.configured, [UInt8](bigEndian: configured)) }
        if let pending = login.pending {
            put(.pendingKey, Array(pending.key.utf8))
            put(.pendingBegan, bytesOf(pending.began))
        }
        return bytes
    }

    private static func bytesOf(_ moment: Timestamp) -> [UInt8] {
        [UInt8](bigEndian: UInt64(bitPattern: moment.seconds))
            + [UInt8](bigEndian: UInt32(bitPattern: moment.nanoseconds))
    }

    // MARK: Reading

    static func decode(_ record: [UInt8], key: EncryptionKey?, place: String) throws(Failure) -> StoredLogin {
        guard record.starts(with: magic) else { throw .foreign }
        guard record.count > headerSize + overhead else { throw .damaged }
        guard record[8] == version else { throw record[8] > version ? .newer(record[8]) : .older(record[8]) }
        guard record.number(at: 12, 4) == UInt64(record.count), record[10] == 0, record[11] == 0 else { throw .damaged }
        let header = Array(record[..<headerSize])
        switch record[9] {
        case 0:
            let digest = record.count - overhead
            guard Digest.sha256(Array(record[..<digest])) == Array(record[digest...]) else { throw .damaged }
            guard key == nil else { throw .notEncrypted }
            return try login(record[headerSize..<digest])
        case 1:
            guard let key else { throw .needsKey }
            guard Array(header.suffix(8)) == key.fingerprint else { throw .otherKey }
            let start = headerSize + AEAD.nonceSize
            let nonce = Array(record[headerSize..<start])
            let context = header + place.utf8
            guard let body = AEAD.open(Array(record[start...]), key: key.bytes, nonce: nonce, context: context)
            else { throw .notAuthentic }
            return try login(body[...])
        default: throw .damaged
        }
    }

    private static func login(_ body: ArraySlice<UInt8>) throws(Failure) -> StoredLogin {
        var values: [Field: [UInt8]] = [:]
        var rest = body
        while let tag = rest.popFirst(), tag != Field.padding.rawValue {
            guard let field = Field(rawValue: tag), rest.count >= 4 else { throw .damaged }
            let count = Array(rest.prefix(4)).number(at: 0, 4)
            rest = rest.dropFirst(4)
            guard count <= UInt64(rest.count) else { throw .damaged }
            values[field] = Array(rest.prefix(Int(count)))
            rest = rest.dropFirst(Int(count))
        }
        func text(_ field: Field) throws(Failure) -> String? {
            guard let bytes = values[field] else { return nil }
            guard let text = String(validating: bytes, as: UTF8.self) else { throw .damaged }
            return text
        }
        func moment(_ field: Field) throws(Failure) -> Timestamp? {
            guard let bytes = values[field] else { return nil }
            guard bytes.count == 12,
                let moment = Timestamp(
                    secondsSince1970: Int64(bitPattern: bytes.number(at: 0, 8)),
                    nanoseconds: Int32(truncatingIfNeeded: bytes.number(at: 8, 4)))
            else { throw .damaged }
            return moment
        }
        func number(_ field: Field) throws(Failure) -> UInt64? {
            guard let bytes = values[field] else { return nil }
            guard bytes.count == 8 else { throw .damaged }
            return bytes.number(at: 0, 8)
        }
        guard let lineage = try number(.lineage), let generation = try number(.generation) else { throw .damaged }
        let configured = try number(.configured)
        if let ending = values[.ending] {
            guard ending.count == 1, let ending = StoredLogin.Ending(rawValue: ending[0]) else { throw .damaged }
            return StoredLogin(ending, lineage: lineage, generation: generation, configured: configured)
        }
        guard let access = try text(.access), let type = try text(.type) else { throw .damaged }
        var pending: PendingExchange?
        if let key = try text(.pendingKey) {
            guard let began = try moment(.pendingBegan) else { throw .damaged }
            pending = PendingExchange(key: key, began: began)
        }
        let token = Token(
            access: access, refresh: try text(.refresh), type: type, expiry: try moment(.expiry),
            scope: try text(.scope))
        return StoredLogin(
            token: token, lineage: lineage, generation: generation, pending: pending, configured: configured)
    }
}

extension [UInt8] {
    fileprivate init(bigEndian number: some FixedWidthInteger) {
        self = []
        append(bigEndian: number)
    }

    fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// Returns the big-endian number in `count` bytes from `start`. `count` is at most 8, and the bytes must exist.
    fileprivate func number(at start: Int, _ count: Int) -> UInt64 {
        self[start..<start + count].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
