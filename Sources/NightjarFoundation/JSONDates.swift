import NightjarHTTP

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Encodes and decodes Foundation's Date, for Swift programs. This target is not part of libnightjar, which does not use
// Foundation. Without a format, Date's Codable conformance uses seconds since 2001, which HTTP APIs do not use.

extension JSONDecodingOptions {
    /// Returns a copy that decodes each `Date` from this format.
    public func dates(_ format: Timestamp.Format) -> JSONDecodingOptions {
        reading(Date.self) { Date(try Timestamp(from: $0, format)) }
    }

    /// Returns a copy that decodes each `Date` with `read`.
    public func dates(_ read: @escaping @Sendable (any Decoder) throws -> Date) -> JSONDecodingOptions {
        reading(Date.self, read)
    }
}

extension JSONEncodingOptions {
    /// Returns a copy that encodes each `Date` in this format.
    public func dates(_ format: Timestamp.Format) -> JSONEncodingOptions {
        writing(Date.self) { date, encoder in
            guard let moment = Timestamp(date) else {
                throw EncodingError.invalidValue(
                    date,
                    EncodingError.Context(
                        codingPath: encoder.codingPath, debugDescription: "the year of the date is outside of 0 to 9999"
                    ))
            }
            try moment.encode(to: encoder, format)
        }
    }

    /// Returns a copy that encodes each `Date` with `write`.
    public func dates(_ write: @escaping @Sendable (Date, any Encoder) throws -> Void) -> JSONEncodingOptions {
        writing(Date.self, write)
    }
}

extension Date {
    package init(_ timestamp: Timestamp) { self.init(timeIntervalSince1970: timestamp.secondsSince1970) }
}

extension Timestamp {
    /// Creates a timestamp, rounded to microseconds. Returns nil for dates outside of the years 0 to 9999.
    public init?(_ date: Date) { self.init(secondsSince1970: date.timeIntervalSince1970) }
}
