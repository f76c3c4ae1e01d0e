import NIOCore
import NightjarHTTP

extension Request {
    /// A request body that the program produces while it is sent: an asynchronous sequence of parts.
    ///
    ///     let body = Request.StreamedBody(fileParts)                      // sent once
    ///     let body = Request.StreamedBody { fileParts(of: path) }         // can be sent again
    ///     let response = try await client.send(Request(.post, "/files"), body: body)
    ///
    /// The sequence is iterated in a Swift task of its own. A part is requested when the connection can send it, so that a slow
    /// server slows the sequence down. The task is cancelled when the call ends, also if the server responds before it has the
    /// whole body. If the sequence fails, the call ends with `invalid_request`, and the server receives an incomplete
    /// body.
    ///
    /// A retry, a redirect with 307 or 308 and the request after a token refresh send the body again. If a part was already
    /// requested from a sequence that can be sent only once, the call does not send the request again: it fails with the error
    /// of the attempt, or returns its response.
    public struct StreamedBody: Sendable {
        /// The length of the body in bytes. Nil: the length is not known, and the body is chunked over HTTP/1.1.
        public let length: Int?
        /// Whether the body can be sent again.
        public let isRestartable: Bool
        /// Iterates a sequence, until it ends or the pump needs no more parts.
        let run: @Sendable (BodyPump.Attempt) async -> Void

        /// Creates a body that can be sent once.
        ///
        /// - Parameter length: The number of bytes of all parts, if it is known. If it is wrong, the call fails.
        public init<Parts: AsyncSequence & Sendable>(_ parts: Parts, length: Int? = nil)
        where Parts.Element == ByteBuffer, Parts.AsyncIterator: SendableMetatype {
            self.init(length, isRestartable: false, { parts }, { $0 })
        }

        /// Creates a body that can be sent once, from parts such as `[UInt8]`.
        public init<Parts: AsyncSequence & Sendable>(_ parts: Parts, length: Int? = nil)
        where Parts.Element: Collection<UInt8> & SendableMetatype, Parts.AsyncIterator: SendableMetatype {
            self.init(length, isRestartable: false, { parts }, StreamedBody.buffer)
        }

        /// Creates a body that can be sent again.
        ///
        /// - Parameters:
        ///   - length: The number of bytes of all parts, if it is known. If it is wrong, the call fails.
        ///   - parts: Called for each attempt that sends the body. Returns a sequence from the beginning of the body.
        public init<Parts: AsyncSequence & SendableMetatype>(
            length: Int? = nil, restarting parts: @escaping @Sendable () throws -> Parts
        ) where Parts.Element == ByteBuffer, Parts.AsyncIterator: SendableMetatype {
            self.init(length, isRestartable: true, parts, { $0 })
        }

        /// Creates a body that can be sent again, from parts such as `[UInt8]`.
        public init<Parts: AsyncSequence & SendableMetatype>(
            length: Int? = nil, restarting parts: @escaping @Sendable () throws -> Parts
        ) where Parts.Element: Collection<UInt8> & SendableMetatype, Parts.AsyncIterator: SendableMetatype {
            self.init(length, isRestartable: true, parts, StreamedBody.buffer)
        }

        private init<Parts: AsyncSequence & SendableMetatype>(
            _ length: Int?, isRestartable: Bool, _ parts: @escaping @Sendable () throws -> Parts,
            _ buffer: @escaping @Sendable (Parts.Element) throws -> ByteBuffer
        ) where Parts.AsyncIterator: SendableMetatype {
            self.length = length
            self.isRestartable = isRestartable
            run = { attempt in
                do {
                    var iterator = try parts().makeAsyncIterator()
                    while await attempt.isWanted() {
                        guard let part = try await iterator.next() else { return attempt.end(.end) }
                        attempt.deliver(try buffer(part))
                    }
                } catch {
                    attempt.end(.failed("the sequence of the request's body failed: \(StreamedBody.describe(error))"))
                }
            }
        }

        @Sendable private static func buffer(_ part: some Collection<UInt8>) throws(NightjarError) -> ByteBuffer {
            var buffer = ByteBuffer()
            try buffer.reserve(part.count, for: "a part of the request's body")
            buffer.writeBytes(part)
            return buffer
        }

        private static func describe(_ error: any Error) -> String {
            (error as? NightjarError)?.message ?? quoted(String(describing: error), limit: 200)
        }
    }
}
