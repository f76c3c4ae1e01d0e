import NIOCore

extension JSONValue {
    /// Parses the text of a stream's element.
    ///
    /// - Parameter subject: The name of the text in messages, such as `value 3 of the response`.
    /// - Throws: `decoding` if the text is not JSON; `no_memory`.
    package init(parsing text: ByteBuffer, of subject: String) throws(NightjarError) {
        self = try JSONValue.describing(subject + " is ") { () throws(NightjarError) in
            try text.withUnsafeReadableBytes { bytes in
                Result { () throws(NightjarError) in try JSONValue(parsing: bytes) }
            }.get()
        }
    }

    /// Decodes a record of a stream of JSON values.
    ///
    /// - Parameter number: The number of the record, from 1, for messages.
    /// - Throws: `decoding` if the record is not JSON or does not match `type`; `no_memory`.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, record: ByteBuffer, number: Int, _ options: JSONDecodingOptions
    ) throws(NightjarError) -> Value {
        let subject = "value \(number) of the response"
        let value = try JSONValue(parsing: record, of: subject)
        return try describing(subject + ": ") { () throws(NightjarError) in try value.decode(type, options) }
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
