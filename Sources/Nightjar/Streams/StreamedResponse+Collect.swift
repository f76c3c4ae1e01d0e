import NIOCore
import NightjarHTTP

extension StreamedResponse {
    /// Reads the whole body and returns the response with it and with the trailer fields. The body must not have been read.
    ///
    /// - Parameter maximum: The maximum length of the body in bytes.
    /// - Throws: `too_large` for a longer body, whose rest is not read; `no_memory`; the errors of ``body``.
    public func collect(upTo maximum: Int) async throws(NightjarError) -> Response {
        let parts = body.makeAsyncIterator()
        do throws(NightjarError) {
            let content = try await parts.collect(upTo: maximum)
            return (body.reading.content.ended ?? response).with(body: content)
        } catch {
            parts.cancel()
            throw error.kind == .tooLarge || error.kind == .noMemory ? error.about(response) : error
        }
    }
}

extension StreamedResponse.Body.AsyncIterator {
    /// Returns the parts that have not been read, as one buffer.
    fileprivate func collect(upTo maximum: Int) async throws(NightjarError) -> ByteBuffer {
        var whole = ByteBuffer()
        while let part = try await next() {
            guard part.readableBytes <= maximum - whole.readableBytes else {
                throw NightjarError(
                    .tooLarge,
                    "the response body is larger than \(maximum) bytes; raise the limit of collect(upTo:), or read the "
                        + "body in parts")
            }
            try whole.append(part, for: "the response body")
        }
        return whole
    }
}
