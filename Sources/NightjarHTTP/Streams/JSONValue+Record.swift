import NIOCore

extension JSONValue {
    /// Decodes a record of a stream of JSON values.
    ///
    /// - Parameter number: The number of the record, from 1, for messages.
    /// - Throws: `decoding` if the record is not JSON or does not match `type`; `no_memory`.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, record: ByteBuffer, number: Int, _ options: JSONDecodingOptions
    ) throws(NightjarError) -> Value {
        let value = try JSONValue(record: record, number: number)
        return try describing("value \(number) of the response: ") { () throws(NightjarError) in
            try value.decode(type, options)
        }
    }

    /// Parses a record of a stream of JSON values.
    package init(record: ByteBuffer, number: Int) throws(NightjarError) {
        self = try JSONValue.describing("value \(number) of the response is ") { () throws(NightjarError) in
            try record.withUnsafeReadableBytes { bytes in
                Result { () throws(NightjarError) in try JSONValue(parsing: bytes) }
            }.get()
        }
    }

    private static func describing<Result>(
        _ prefix: String, _ body: () throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        do throws(NightjarError) {
            return try body()
        } catch {
            guard error.kind == .decoding else { throw error }
            throw NightjarError(.decoding, prefix + error.message, phase: .receive)
        }
    }
}
