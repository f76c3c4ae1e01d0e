extension Timestamp {
    /// The representation of timestamps in JSON.
    public enum Format: Sendable {
        /// A string with any offset, with or without a fraction (see ``Timestamp/init(iso8601:)``). Written in UTC.
        case iso8601
        /// A number, with or without a fraction.
        case secondsSince1970
        case millisecondsSince1970
    }

    public init(from decoder: any Decoder, _ format: Format) throws {
        let container = try decoder.singleValueContainer()
        func refuse(_ expected: String, _ found: String) -> DecodingError {
            let mismatch = JSONMismatch(path: JSONPointer(decoder.codingPath), expected: expected, found: found)
            return .dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath, debugDescription: mismatch.description, underlyingError: mismatch))
        }
        let moment: Timestamp?
        switch format {
        case .iso8601:
            guard let read = Timestamp(iso8601: try container.decode(String.self)) else {
                throw refuse("a timestamp like 2024-02-29T23:59:59Z", "another string")
            }
            moment = read
        case .secondsSince1970:
            // Integers are read as Int64 because a double cannot represent every Int64.
            moment =
                if let whole = try? container.decode(Int64.self) {
                    Timestamp(secondsSince1970: whole)
                } else {
                    Timestamp(secondsSince1970: try container.decode(Double.self))
                }
        case .millisecondsSince1970:
            moment =
                if let whole = try? container.decode(Int64.self) {
                    Timestamp(millisecondsSince1970: whole)
                } else {
                    Timestamp(millisecondsSince1970: try container.decode(Double.self))
                }
        }
        guard let moment else { throw refuse("a timestamp in the years 0 to 9999", "one out of range") }
        self = moment
    }

    public func encode(to encoder: any Encoder, _ format: Format) throws {
        var container = encoder.singleValueContainer()
        switch format {
        case .iso8601: try container.encode(description)
        case .secondsSince1970:
            if nanoseconds == 0 { try container.encode(seconds) } else { try container.encode(secondsSince1970) }
        case .millisecondsSince1970:
            if nanoseconds % 1_000_000 == 0 {
                try container.encode(seconds * 1000 + Int64(nanoseconds / 1_000_000))
            } else {
                try container.encode(Double(seconds) * 1000 + Double(nanoseconds) / 1e6)
            }
        }
    }
}

/// A timestamp is encoded and decoded as ISO 8601 unless the options select another format.
extension Timestamp: Codable {
    public init(from decoder: any Decoder) throws { try self.init(from: decoder, .iso8601) }
    public func encode(to encoder: any Encoder) throws { try encode(to: encoder, .iso8601) }
}

extension JSONDecodingOptions {
    /// Returns a copy of the options that reads each ``Timestamp`` in `format`.
    public func timestamps(_ format: Timestamp.Format) -> JSONDecodingOptions {
        reading(Timestamp.self) { try Timestamp(from: $0, format) }
    }
}

extension JSONEncodingOptions {
    /// Returns a copy of the options that writes each ``Timestamp`` in `format`.
    public func timestamps(_ format: Timestamp.Format) -> JSONEncodingOptions {
        writing(Timestamp.self) { try $0.encode(to: $1, format) }
    }
}
