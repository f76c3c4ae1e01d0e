import FoundationEssentials
import NightjarHTTP

// Foundation's Date in what is sent and received, for programs in Swift. It is no part of libnightjar, which has no
// Foundation in it. Without a format here, Date's own Codable counts seconds from 2001, as no API does.

extension JSONDecodingOptions {
    /// These, with each `Date` read from this format.
    public func dates(_ format: Timestamp.Format) -> JSONDecodingOptions {
        reading(Date.self) { Date(try Timestamp(from: $0, format)) }
    }

    /// These, with each `Date` read by `read`, which finds in the decoder what stands in its place.
    public func dates(_ read: @escaping @Sendable (any Decoder) throws -> Date) -> JSONDecodingOptions {
        reading(Date.self, read)
    }
}

extension JSONEncodingOptions {
    /// These, with each `Date` written in this format.
    public func dates(_ format: Timestamp.Format) -> JSONEncodingOptions {
        writing(Date.self) { date, encoder in
            guard let moment = Timestamp(date) else {
                throw EncodingError.invalidValue(
                    date,
                    EncodingError.Context(
                        codingPath: encoder.codingPath, debugDescription: "the date is not in the years 0 to 9999"))
            }
            try moment.encode(to: encoder, format)
        }
    }

    /// These, with each `Date` written by `write`.
    public func dates(_ write: @escaping @Sendable (Date, any Encoder) throws -> Void) -> JSONEncodingOptions {
        writing(Date.self, write)
    }
}

extension Date {
    public init(_ timestamp: Timestamp) { self.init(timeIntervalSince1970: timestamp.secondsSince1970) }
}

extension Timestamp {
    /// To the microsecond. Nil outside of the years 0 to 9999.
    public init?(_ date: Date) { self.init(secondsSince1970: date.timeIntervalSince1970) }
}
