import NIOCore

/// Sends a body of items, which are generated while they are sent.
///
/// - `delay`: the seconds before each item.
/// - `chunk`: the number of bytes in each piece. The default is one item per piece.
/// - `cut`: the connection is closed after this number of bytes.
struct PieceSource: BodySource {
    /// Returns the next item; nil at the end.
    private let nextItem: () -> String?
    private let pause: TimeAmount
    private let chunk: Int
    /// The number of bytes before the connection is closed. Nil: the body is complete.
    private var left: Int?
    /// Whether the connection stays open after the last item.
    var holdsOpen = false
    private var rest = ByteBuffer()
    private var isDue = false

    init(_ request: Request, nextItem: @escaping () -> String?) throws(Problem) {
        self.nextItem = nextItem
        pause = try request.queryDuration("delay", atMost: 60, or: 0)
        chunk = try request.query("chunk", in: 1...(1 << 20), or: 1 << 20)
        left = request.query("cut") == nil ? nil : try request.query("cut", in: 0...(1 << 40), or: 0)
    }

    /// Closes the connection after `count` bytes.
    mutating func cut(after count: Int) { left = count }

    /// Returns the response that this source sends.
    func response(type: String) -> Response {
        var response = Response(.ok, headers: ["Content-Type": type], body: .source(self, length: nil))
        response.closesConnection = left != nil
        return response
    }

    mutating func next() -> BodyPart {
        if left == 0 { return .cut }
        if rest.readableBytes == 0 {
            if !isDue, pause > .zero {
                isDue = true
                return .wait(pause)
            }
            isDue = false
            guard let item = nextItem() else { return holdsOpen ? .wait(.hours(1)) : .end(trailers: nil) }
            rest.writeString(item)
        }
        let count = min(chunk, rest.readableBytes, left ?? Int.max)
        left = left.map { $0 - count }
        let piece = rest.readSlice(length: count) ?? ByteBuffer()
        if rest.readableBytes == 0 { rest = ByteBuffer() }
        return .bytes(piece)
    }
}
