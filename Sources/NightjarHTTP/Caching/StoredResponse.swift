/// What is kept of an answer beside its content, and what of its request tells who else it is for. RFC 9111 section 3.
public struct StoredResponse: Sendable, Equatable {
    public var status: Int
    public var reason: String
    public var minorVersion: Int
    /// Without those of the connection. Section 3.1.
    public var headers: Headers
    public var trailers: Headers
    /// When the request was put on the wire, and when the head of the answer had come: for its age. Section 4.2.3.
    public var requested: Timestamp
    public var received: Timestamp
    /// The fields of the request that the answer names in Vary, normalised. Section 4.1.
    public var selecting: [SelectingField]
    /// The content is kept without the codings that the headers tell of: good for who would have it decoded, and for no range.
    public var isDecoded: Bool
    /// Not to be used before the server has said that it still holds. Section 4.4.
    public var isInvalidated: Bool
    /// Bytes of content, as it is kept.
    public var contentLength: Int

    public init(
        status: Int, reason: String = "", minorVersion: Int = 1, headers: Headers = Headers(),
        trailers: Headers = Headers(), requested: Timestamp, received: Timestamp, selecting: [SelectingField] = [],
        isDecoded: Bool = false, isInvalidated: Bool = false, contentLength: Int = 0
    ) {
        self.status = status
        self.reason = reason
        self.minorVersion = minorVersion
        self.headers = headers
        self.trailers = trailers
        self.requested = requested
        self.received = received
        self.selecting = selecting
        self.isDecoded = isDecoded
        self.isInvalidated = isInvalidated
        self.contentLength = contentLength
    }

    /// A field of a request, as answers are told apart by it.
    public struct SelectingField: Sendable, Hashable {
        /// In lower case.
        public let name: String
        /// Nil: the request had none of that name.
        public let value: String?

        public init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }

        public static func == (a: SelectingField, b: SelectingField) -> Bool {
            guard a.name.isExactly(b.name), let value = a.value, let other = b.value else {
                return a.name.isExactly(b.name) && a.value == nil && b.value == nil
            }
            return value.isExactly(other)
        }
    }
}
