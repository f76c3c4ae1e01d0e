/// A frame of HTTP/2, written and read without code of the client. RFC 9113 section 4.1.
public struct HTTP2Frame: Sendable, Equatable {
    /// The type of a frame. RFC 9113 section 6, and RFC 9218 section 7.1.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let data = Kind(rawValue: 0)
        public static let headers = Kind(rawValue: 1)
        public static let priority = Kind(rawValue: 2)
        public static let reset = Kind(rawValue: 3)
        public static let settings = Kind(rawValue: 4)
        public static let pushPromise = Kind(rawValue: 5)
        public static let ping = Kind(rawValue: 6)
        public static let goAway = Kind(rawValue: 7)
        public static let windowUpdate = Kind(rawValue: 8)
        public static let continuation = Kind(rawValue: 9)
        public static let priorityUpdate = Kind(rawValue: 16)
    }

    public struct Flags: OptionSet, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let endStream = Flags(rawValue: 0x1)
        /// Of SETTINGS and PING.
        public static let acknowledgment = Flags(rawValue: 0x1)
        public static let endHeaders = Flags(rawValue: 0x4)
        public static let padded = Flags(rawValue: 0x8)
        public static let priority = Flags(rawValue: 0x20)
    }

    /// An error code. RFC 9113 section 7.
    public struct ErrorCode: RawRepresentable, Sendable, Hashable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let noError = ErrorCode(rawValue: 0)
        public static let protocolError = ErrorCode(rawValue: 1)
        public static let internalError = ErrorCode(rawValue: 2)
        public static let flowControlError = ErrorCode(rawValue: 3)
        public static let refusedStream = ErrorCode(rawValue: 7)
        public static let cancel = ErrorCode(rawValue: 8)
        public static let enhanceYourCalm = ErrorCode(rawValue: 11)
        public static let http11Required = ErrorCode(rawValue: 13)
    }

    /// A parameter of SETTINGS. RFC 9113 section 6.5.2.
    public struct Setting: RawRepresentable, Sendable, Hashable {
        public let rawValue: Int

        public init(rawValue: Int) { self.rawValue = rawValue }

        public static let headerTableSize = Setting(rawValue: 1)
        public static let maximumConcurrentStreams = Setting(rawValue: 3)
        public static let initialWindowSize = Setting(rawValue: 4)
        public static let maximumFrameSize = Setting(rawValue: 5)
    }

    public var kind: Kind
    public var flags: Flags
    public var stream: Int
    public var payload: [UInt8]

    public init(_ kind: Kind, _ flags: Flags = [], stream: Int = 0, _ payload: [UInt8] = []) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.payload = payload
    }

    // MARK: Frames

    public static func data(_ stream: Int, _ bytes: some Sequence<UInt8>, ends: Bool = false) -> HTTP2Frame {
        HTTP2Frame(.data, ends ? .endStream : [], stream: stream, Array(bytes))
    }

    public static func reset(_ stream: Int, _ code: ErrorCode) -> HTTP2Frame {
        HTTP2Frame(.reset, stream: stream, number(code.rawValue))
    }

    public static func settings(_ values: [(Setting, Int)]) -> HTTP2Frame {
        HTTP2Frame(.settings, values.flatMap { [UInt8(0), UInt8($0.0.rawValue)] + number($0.1) })
    }

    public static func goAway(last: Int, _ code: ErrorCode = .noError) -> HTTP2Frame {
        HTTP2Frame(.goAway, number(last) + number(code.rawValue))
    }

    public static func windowUpdate(_ stream: Int, _ increment: Int) -> HTTP2Frame {
        HTTP2Frame(.windowUpdate, stream: stream, number(increment))
    }

    /// HEADERS, and CONTINUATION frames if the block is longer than `maximum`.
    public static func headers(
        _ stream: Int, block: [UInt8], ends: Bool, maximum: Int = 16_384
    ) -> [HTTP2Frame] {
        var frames: [HTTP2Frame] = []
        var rest = block[...]
        repeat {
            let part = rest.prefix(maximum)
            rest = rest.dropFirst(part.count)
            var flags: Flags = rest.isEmpty ? .endHeaders : []
            if frames.isEmpty, ends { flags.insert(.endStream) }
            frames.append(HTTP2Frame(frames.isEmpty ? .headers : .continuation, flags, stream: stream, Array(part)))
        } while !rest.isEmpty
        return frames
    }

    private init(_ kind: Kind, _ payload: [UInt8]) { self.init(kind, [], payload) }

    // MARK: Wire format

    public var bytes: [UInt8] {
        HTTP2Frame.number(payload.count)[1...] + [kind.rawValue, flags.rawValue] + HTTP2Frame.number(stream) + payload
    }

    public static func number(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// The number in four bytes of the payload.
    public func number(at index: Int) -> Int {
        payload.dropFirst(index).prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    /// The error code of RST_STREAM.
    public var resetCode: ErrorCode { ErrorCode(rawValue: number(at: 0)) }

    /// The parameters of SETTINGS.
    public var settings: [Setting: Int] {
        let pairs = stride(from: 0, to: payload.count - 5, by: 6).map { index in
            (Setting(rawValue: Int(payload[index]) << 8 | Int(payload[index + 1])), number(at: index + 2))
        }
        return Dictionary(pairs) { $1 }
    }
}

/// Encoded fields. RFC 7541.
public enum HTTP2FieldBlock {
    public typealias Field = (name: [UInt8], value: [UInt8])

    /// Returns fields as literals without indexing and without Huffman coding. RFC 7541 section 6.2.2.
    public static func literals(_ fields: [Field]) -> [UInt8] {
        fields.flatMap { [0] + string($0.name) + string($0.value) }
    }

    public static func literals(_ fields: [(String, String)]) -> [UInt8] {
        literals(fields.map { (Array($0.0.utf8), Array($0.1.utf8)) })
    }

    /// Returns a field as a literal that is added to the dynamic table. RFC 7541 section 6.2.1.
    public static func indexed(_ name: String, _ value: [UInt8]) -> [UInt8] {
        [0x40] + string(Array(name.utf8)) + string(value)
    }

    private static func string(_ bytes: [UInt8]) -> [UInt8] { integer(bytes.count, prefix: 7) + bytes }

    /// Returns an integer. RFC 7541 section 5.1.
    private static func integer(_ value: Int, prefix: Int) -> [UInt8] {
        let limit = (1 << prefix) - 1
        guard value >= limit else { return [UInt8(value)] }
        var bytes = [UInt8(limit)]
        var rest = value - limit
        while rest >= 128 {
            bytes.append(UInt8(rest % 128) | 0x80)
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }
}
