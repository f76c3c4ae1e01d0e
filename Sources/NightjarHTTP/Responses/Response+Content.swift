import NIOCore

// Views of the body. Each access parses the body again.
extension Response {
    /// The body as text, decoded with the charset of its byte order mark or Content-Type. An unknown charset is read as
    /// UTF-8. Invalid sequences become U+FFFD.
    public var text: String {
        let known: String? = body.withUnsafeReadableBytes { bytes in
            try? TextEncoding.text(of: bytes, contentType: headers["content-type"])
        }
        return known ?? String(buffer: body)
    }

    /// Returns the body as text. Differs from ``text`` only for an unsupported charset.
    ///
    /// - Throws: `decoding` with the name of the unsupported charset.
    public func decodedText() throws(NightjarError) -> String {
        try reading { response throws(NightjarError) in
            try response.withBytes { bytes throws(NightjarError) in
                try TextEncoding.text(of: bytes, contentType: response.headers["content-type"])
            }
        }
    }

    /// A copy of the body as bytes.
    public var bytes: [UInt8] { Array(body.readableBytesView) }

    /// The body parsed as JSON, regardless of its Content-Type.
    ///
    /// - Throws: `decoding` if the body is not JSON or is empty.
    public var json: JSONValue {
        get throws(NightjarError) { try reading { response throws(NightjarError) in try response.parsed() } }
    }

    /// Decodes the part of the body at `pointer` as `type`, as in `at: "/results"`. The empty pointer selects the whole body.
    ///
    /// If the response has no body (204, for example) or no value at `pointer`, an optional type is decoded as nil and
    /// ``Empty`` is decoded successfully. A ``RawBody``, such as `ByteBuffer`, receives the bytes of the body, unless
    /// `pointer` selects a part of it.
    ///
    /// - Parameter options: Nil for the options of the client, ``Configuration/decoding``.
    /// - Throws: `invalid_argument` if `pointer` is not a JSON Pointer. `decoding` if the body is not JSON or does not match
    ///   `type`. The error contains this response. For a mismatch, the message contains the path, the expected and the
    ///   actual type.
    public func decode<Value: Decodable>(
        _ type: Value.Type, at pointer: some JSONLocation = JSONPointer(), _ options: JSONDecodingOptions? = nil
    ) throws(NightjarError) -> Value {
        try reading { response throws(NightjarError) in
            if let raw = type as? any RawBody.Type, try pointer.jsonPointer().tokens.isEmpty,
                let value = raw.init(body: response.body) as? Value
            {
                return value
            }
            if response.isBlank {
                if let nothing = absent(type) { return nothing }
                throw NightjarError(
                    .decoding,
                    "the response has no body, but \(type) was expected; use an optional type to accept a response "
                        + "without a body")
            }
            return try response.parsed().decode(type, at: pointer, options ?? response.decoding)
        }
    }

    /// A type that contains the bytes of a body. Calls that decode their response as such a type decode nothing:
    /// `let bytes: ByteBuffer = try await client.send(.get("/logo.png"))`. NightjarFoundation adds `Data`.
    public protocol RawBody: Sendable {
        init(body: ByteBuffer)
    }

    /// The options of the client with which the response is decoded by default.
    package var decoding: JSONDecodingOptions { sent?.decoding?.options ?? JSONDecodingOptions() }

    /// Validates the body against a schema. A response without a body is valid.
    ///
    /// - Throws: `decoding` if the body is not JSON or does not match the schema. The error contains this response.
    public func check(_ schema: JSONSchema) throws(NightjarError) {
        guard !isBlank else { return }
        try reading { response throws(NightjarError) in try schema.check(response.parsed()) }
    }

    /// True if the body is empty or only white space.
    package var isBlank: Bool { body.readableBytesView.allSatisfy(ASCII.isWhitespace) }

    private func parsed() throws(NightjarError) -> JSONValue {
        guard !isBlank else { throw NightjarError(.decoding, "the response has no body, but JSON was expected") }
        do throws(NightjarError) {
            return try withBytes { bytes throws(NightjarError) in try JSONValue(parsing: bytes) }
        } catch {
            guard error.kind == .decoding else { throw error }
            // Show the Content-Type: the body is often an HTML page.
            let type = headers["content-type"].map { " (its Content-Type is \(quoted($0)))" } ?? ""
            throw NightjarError(.decoding, "the response is \(error.message)\(type)")
        }
    }

    private func withBytes<Result>(
        _ read: (UnsafeRawBufferPointer) throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        try body.withUnsafeReadableBytes { bytes in
            Swift.Result { () throws(NightjarError) in try read(bytes) }
        }.get()
    }

    /// Runs `read` and adds this response to the error that it throws.
    private func reading<Result>(
        _ read: (Response) throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        do throws(NightjarError) {
            return try read(self)
        } catch {
            throw error.about(self)
        }
    }
}

extension ByteBuffer: Response.RawBody {
    /// The bytes of a body, which are shared and not copied.
    public init(body: ByteBuffer) { self = body }
}
