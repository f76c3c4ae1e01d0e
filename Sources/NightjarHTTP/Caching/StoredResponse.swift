/// The metadata of a stored response, and the request fields that select it. RFC 9111 section 3.
public struct StoredResponse: Sendable, Equatable {
    public var status: Int
    public var reason: String
    public var version: HTTPVersion
    /// The fields without connection fields. Section 3.1.
    public var headers: Headers
    public var trailers = Headers()
    /// The time at which the request was sent. Used to compute the age. Section 4.2.3.
    public var requested: Timestamp
    /// The time at which the response head was complete. Used to compute the age. Section 4.2.3.
    public var received: Timestamp
    /// The request fields named in Vary, normalized. Section 4.1.
    public var variantFields: [VariantField] = []
    /// True if the body is stored without the content codings that the headers declare. The response is then used only
    /// for requests that accept decoded bodies, and not for ranges.
    public var isDecoded = false
    /// True if the response must be validated before it is used. Section 4.4.
    public var isInvalidated = false
    /// The length of the stored body in bytes.
    public var contentLength = 0

    /// - Parameter head: the head. All its fields are copied, including connection fields.
    public init(_ head: ResponseHead, requested: Timestamp, received: Timestamp) {
        status = head.status
        reason = head.reason
        version = head.version
        headers = head.headers
        self.requested = requested
        self.received = received
    }

    /// A request field by which responses are selected.
    public struct VariantField: Sendable, Hashable {
        /// The name in lower case.
        public let name: String
        /// The normalized value, or the fingerprint of a credential. Nil if the request did not have the field.
        public let value: String?

        public init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }

        public static func == (a: VariantField, b: VariantField) -> Bool {
            guard a.name.isExactly(b.name), let value = a.value, let other = b.value else {
                return a.name.isExactly(b.name) && a.value == nil && b.value == nil
            }
            return value.isExactly(other)
        }
    }
}
