import NightjarHTTP

/// Encodes and decodes a ``StoredResponse`` in a row of the index. `isInvalidated` is a separate column.
///
/// Numbers are big-endian. Each value of variable length is preceded by its length.
enum StoredRecord {
    /// Encodes a response.
    ///
    /// - Returns: nil if the record would be larger than 1 MiB.
    static func encode(_ response: StoredResponse) -> [UInt8]? {
        var writer = Writer()
        writer.bytes.reserveCapacity(256 + response.headers.byteCount + response.headers.count * 8)
        writer.bytes.append(version)
        writer.bytes.append(response.isDecoded ? 1 : 0)
        writer.number(response.status)
        writer.number(response.version.rawValue)
        writer.number(response.contentLength)
        writer.moment(response.requested)
        writer.moment(response.received)
        writer.text(response.reason)
        writer.headers(response.headers)
        writer.headers(response.trailers)
        writer.count(response.variantFields.count)
        for field in response.variantFields {
            writer.text(field.name)
            writer.bytes.append(field.value == nil ? 0 : 1)
            if let value = field.value { writer.text(value) }
        }
        return writer.bytes.count <= largest ? writer.bytes : nil
    }

    /// Decodes a response.
    ///
    /// - Returns: nil if the bytes are not a valid record.
    static func decode(_ bytes: [UInt8]) -> StoredResponse? {
        guard bytes.count <= largest else { return nil }
        return bytes.withUnsafeBytes { bytes in
            var reader = Reader(rest: bytes)
            guard reader.byte() == version, let isDecoded = reader.byte(), isDecoded <= 1,
                let status = reader.number(), let number = reader.number(),
                let httpVersion = HTTPVersion(rawValue: number), let length = reader.number(),
                length >= 0, let requested = reader.moment(), let received = reader.moment(),
                let reason = reader.text(), let headers = reader.headers(), let trailers = reader.headers(),
                let count = reader.count()
            else { return nil }
            let head = ResponseHead(status: status, reason: reason, version: httpVersion, headers: headers)
            var response = StoredResponse(head, requested: requested, received: received)
            response.trailers = trailers
            response.isDecoded = isDecoded == 1
            response.contentLength = length
            for _ in 0..<count {
                guard let name = reader.text(), let hasValue = reader.byte() else { return nil }
                guard hasValue == 1 else {
                    response.variantFields.append(StoredResponse.VariantField(name, nil))
                    continue
                }
                guard let value = reader.text() else { return nil }
                response.variantFields.append(StoredResponse.VariantField(name, value))
            }
            return reader.rest.isEmpty ? response : nil
        }
    }

    private static let version: UInt8 = 2
    /// The maximum size of a record in bytes. Responses with larger headers are not stored.
    private static let largest = 1 << 20

    private struct Writer {
        var bytes: [UInt8] = []

        mutating func number(_ number: Int) { append(UInt64(bitPattern: Int64(number)), 8) }
        mutating func count(_ count: Int) { append(UInt64(clamping: count), 4) }

        private mutating func append(_ number: UInt64, _ width: UInt64) {
            for index in 0..<width { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * (width - 1 - index)))) }
        }

        mutating func moment(_ moment: Timestamp) {
            append(UInt64(bitPattern: moment.seconds), 8)
            append(UInt64(UInt32(bitPattern: moment.nanoseconds)), 4)
        }

        mutating func text(_ text: String) {
            count(text.utf8.count)
            bytes += text.utf8
        }

        mutating func headers(_ headers: Headers) {
            count(headers.count)
            for index in 0..<headers.count {
                headers.withBytes(at: index) { name, value in
                    count(name.count)
                    bytes += name
                    count(value.count)
                    bytes += value
                }
            }
        }
    }

    private struct Reader {
        var rest: UnsafeRawBufferPointer

        mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
            guard count <= rest.count else { return nil }
            defer { rest = UnsafeRawBufferPointer(rebasing: rest[count...]) }
            return UnsafeRawBufferPointer(rebasing: rest[..<count])
        }

        mutating func byte() -> UInt8? { take(1)?.first }

        private mutating func unsigned(_ width: Int) -> UInt64? {
            take(width)?.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }

        mutating func number() -> Int? { unsigned(8).map { Int(truncatingIfNeeded: $0) } }
        /// Reads a count. Rejects counts that exceed the number of remaining bytes, so that loops are bounded.
        mutating func count() -> Int? {
            unsigned(4).flatMap { Int(exactly: $0) }.flatMap { $0 <= rest.count ? $0 : nil }
        }

        mutating func moment() -> Timestamp? {
            guard let seconds = unsigned(8), let nanoseconds = unsigned(4) else { return nil }
            return Timestamp(
                secondsSince1970: Int64(bitPattern: seconds),
                nanoseconds: Int32(bitPattern: UInt32(truncatingIfNeeded: nanoseconds)))
        }

        private mutating func bytes() -> UnsafeRawBufferPointer? { count().flatMap { take($0) } }

        mutating func text() -> String? { bytes().flatMap { String(validating: $0, as: UTF8.self) } }

        mutating func headers() -> Headers? {
            guard let count = count() else { return nil }
            var headers = Headers()
            for _ in 0..<count {
                guard let name = bytes(), let value = bytes(), headers.restore(name: name, value: value) else {
                    return nil
                }
            }
            return headers
        }
    }
}
