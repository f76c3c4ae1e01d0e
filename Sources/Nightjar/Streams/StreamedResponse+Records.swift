import NIOCore
import NightjarHTTP

extension StreamedResponse {
    /// The lines of the body, for one `for try await` loop. A line ends with LF, CR or CRLF, which is not part of the
    /// line. The last line may have no line end.
    ///
    /// The sequence throws `decoding` for a line that is not UTF-8, `too_large` for a line that is too long, and the
    /// failure of the call. ``NightjarError/delivered`` is then the number of lines that were returned. Cancellation is
    /// as with ``body``.
    ///
    /// - Parameter maximumLength: The maximum length of a line in bytes.
    public func lines(maximumLength: Int = 1 << 20) -> Records<String> {
        Records(body, .lines, maximumLength) { line, _ in String(buffer: line) }
    }

    /// The JSON values of the body, for one `for try await` loop: one on each line, or, with the Content-Type
    /// `application/json-seq`, after each record separator. Lines without a value are ignored.
    ///
    /// The sequence throws `decoding` for a value that is not JSON or does not match `type`, and otherwise the errors of
    /// ``lines(maximumLength:)``.
    ///
    /// - Parameter maximumLength: The maximum length of a value in bytes.
    public func values<Value: Decodable>(
        of type: Value.Type = JSONValue.self, maximumLength: Int = 1 << 20,
        _ options: JSONDecodingOptions? = nil
    ) -> Records<Value> {
        let options = options ?? response.decoding
        return Records(body, .json(contentType: response.headers["content-type"]), maximumLength) {
            text, number throws(NightjarError) in
            try JSONValue.decode(type, record: text, number: number, options)
        }
    }

    /// The records of a body, such as its lines.
    public struct Records<Element>: AsyncSequence {
        public typealias Failure = NightjarError

        private let body: Body
        private let decoder: RecordDecoder
        private let element: (ByteBuffer, Int) throws(NightjarError) -> Element

        init(
            _ body: Body, _ format: RecordFormat, _ maximumLength: Int,
            _ element: @escaping (ByteBuffer, Int) throws(NightjarError) -> Element
        ) {
            self.body = body
            self.element = element
            decoder = RecordDecoder(format, maximumLength: maximumLength)
        }

        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(body.makeAsyncIterator(), decoder, element)
        }

        public struct AsyncIterator: AsyncIteratorProtocol {
            private let parts: Body.AsyncIterator
            private var decoder: RecordDecoder
            private let element: (ByteBuffer, Int) throws(NightjarError) -> Element
            private var delivered = 0
            private var hasEnded = false

            init(
                _ parts: Body.AsyncIterator, _ decoder: RecordDecoder,
                _ element: @escaping (ByteBuffer, Int) throws(NightjarError) -> Element
            ) {
                self.parts = parts
                self.decoder = decoder
                self.element = element
            }

            /// Returns the next record, or nil after the last one.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(NightjarError) -> Element? {
                guard !hasEnded else { return nil }
                do throws(NightjarError) {
                    guard let record = try await record(actor) else {
                        hasEnded = true
                        return nil
                    }
                    let element = try element(record, delivered + 1)
                    delivered += 1
                    return element
                } catch {
                    hasEnded = true
                    parts.cancel()
                    throw error.afterDelivery(of: delivered, decoder.format.noun)
                }
            }

            private mutating func record(_ actor: isolated (any Actor)?) async throws(NightjarError) -> ByteBuffer? {
                while true {
                    if let record = try decoder.next() { return record }
                    guard let part = try await parts.next(isolation: actor) else { return try decoder.finish() }
                    decoder.append(part)
                }
            }
        }
    }
}
