import NIOCore

// What the content says. All of it is read anew each time: keep what you use twice.
extension Response {
    /// The content as text, in the charset of its byte order mark or Content-Type. One that is not known is read as
    /// UTF-8, and what is not in the charset is U+FFFD.
    public var text: String {
        let known: String? = body.withUnsafeReadableBytes { bytes in
            try? TextEncoding.text(of: bytes, contentType: headers["content-type"])
        }
        return known ?? String(buffer: body)
    }

    /// The same, certain of the charset.
    ///
    /// - Throws: `decoding` with the name of a charset that is not known.
    public func decodedText() throws(NightjarError) -> String {
        try reading { response throws(NightjarError) in
            try response.withBytes { bytes throws(NightjarError) in
                try TextEncoding.text(of: bytes, contentType: response.headers["content-type"])
            }
        }
    }

    /// The content as JSON, whatever its Content-Type.
    ///
    /// - Throws: `decoding`, also for no content at all.
    public var json: JSONValue {
        get throws(NightjarError) { try reading { response throws(NightjarError) in try response.parsed() } }
    }

    /// The content, or the part of it that `pointer` names, as a type.
    ///
    /// Of an answer without content (204 and the like) an optional is nil, and so is what `pointer` names and is not
    /// there; ``Empty`` is there always.
    ///
    /// - Throws: `decoding` with the path, what was expected and what was found; this response goes with it.
    public func decode<Value: Decodable>(
        _ type: Value.Type, at pointer: JSONPointer = JSONPointer(), _ options: JSONDecodingOptions = .init()
    ) throws(NightjarError) -> Value {
        try reading { response throws(NightjarError) in
            if response.isBlank {
                if let nothing = absent(type) { return nothing }
                throw NightjarError(
                    .decoding, "the answer has no body where \(type) was expected; an optional of it would be nil")
            }
            return try response.parsed().decode(type, at: pointer, options)
        }
    }

    /// Whether the content is as a schema has it. No content is, for that there is none the status says.
    ///
    /// - Throws: `decoding` with the path, what was expected and what was found; this response goes with it.
    public func check(_ schema: JSONSchema) throws(NightjarError) {
        guard !isBlank else { return }
        try reading { response throws(NightjarError) in try schema.check(response.parsed()) }
    }

    /// No content but white space.
    package var isBlank: Bool { body.readableBytesView.allSatisfy(ASCII.isWhitespace) }

    private func parsed() throws(NightjarError) -> JSONValue {
        guard !isBlank else { throw NightjarError(.decoding, "the answer has no body, so no JSON") }
        do throws(NightjarError) {
            return try withBytes { bytes throws(NightjarError) in try JSONValue(parsing: bytes) }
        } catch {
            // Most often it is a page of HTML, and its type says so.
            let type = headers["content-type"].map { " (its Content-Type is \(quoted($0)))" } ?? ""
            throw NightjarError(error.kind, "the answer is \(error.message)\(type)")
        }
    }

    private func withBytes<Result>(
        _ read: (UnsafeRawBufferPointer) throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        try body.withUnsafeReadableBytes { bytes in
            Swift.Result { () throws(NightjarError) in try read(bytes) }
        }.get()
    }

    /// Tells of a failure with the answer that it is about.
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
