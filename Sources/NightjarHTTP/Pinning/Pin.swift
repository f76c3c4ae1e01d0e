extension Pinning {
    /// The SHA-256 digest of a public key with its algorithm, as `sha256/` and Base64. RFC 7469 section 2.4.
    public struct Pin: Hashable, Sendable, CustomStringConvertible {
        /// 32 bytes.
        private let digest: [UInt8]

        /// Returns nil if `digest` does not have 32 bytes.
        package init?(digest: [UInt8]) {
            guard digest.count == Pin.digestSize else { return nil }
            self.digest = digest
        }

        /// Reads a pin such as `sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=`.
        ///
        /// - Throws: `invalid_argument` with the reason.
        public init(_ text: String) throws(NightjarError) {
            guard text.hasPrefix(Pin.prefix) else { throw Pin.invalid(text, "it does not begin with \"sha256/\"") }
            let encoded = text.dropFirst(Pin.prefix.count)
            guard let digest = Base64.decode(encoded.utf8) else {
                throw Pin.invalid(text, "the text after \"sha256/\" is not Base64")
            }
            guard digest.count == Pin.digestSize else {
                throw Pin.invalid(text, "it has \(digest.count) bytes instead of \(Pin.digestSize)")
            }
            self.digest = digest
        }

        public var description: String { Pin.prefix + Base64.encode(digest) }

        private static func invalid(_ text: String, _ reason: String) -> NightjarError {
            NightjarError(
                .invalidArgument,
                "the pin \(quoted(text)) is invalid: \(reason); write \"sha256/\" and the Base64 form of the "
                    + "\(digestSize) bytes of a SHA-256 digest, as `nightjar tls` prints it")
        }

        private static let prefix = "sha256/"
        private static let digestSize = 32
    }

    /// The pins of one host pattern.
    public struct Pins: Sendable, Equatable {
        /// At least two different pins, in the order of the configuration.
        public let all: [Pin]
        /// The time from which a mismatch is only reported, so that an old release of a program does not stop working
        /// when the server's keys have changed. Nil: never.
        public let reportOnlyAfter: Timestamp?

        /// - Throws: `invalid_argument` if there are fewer than two different pins.
        public init(_ pins: [Pin], reportOnlyAfter: Timestamp? = nil) throws(NightjarError) {
            var all: [Pin] = []
            for pin in pins where !all.contains(pin) { all.append(pin) }
            guard all.count >= 2 else {
                throw NightjarError(
                    .invalidArgument,
                    "at least two different pins are required, got \(all.count); add the pin of a backup key that is "
                        + "kept offline")
            }
            self.all = all
            self.reportOnlyAfter = reportOnlyAfter
        }

        /// Reads the date of ``reportOnlyAfter``: an RFC 3339 date, which begins at midnight UTC, or a date and time.
        ///
        /// - Throws: `invalid_argument` for another form.
        package static func date(_ text: String) throws(NightjarError) -> Timestamp {
            let isDate = text.utf8.count == "2027-01-01".utf8.count
            guard let date = Timestamp(rfc3339: isDate ? text + "T00:00:00Z" : text) else {
                throw NightjarError(
                    .invalidArgument,
                    "the date \(quoted(text)) is invalid; write a date such as \"2027-01-31\", or a date and time such "
                        + "as \"2027-01-31T12:00:00Z\"")
            }
            return date
        }
    }
}
