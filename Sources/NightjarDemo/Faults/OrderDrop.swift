import NIOCore
import NIOHTTP1

/// Where the connection of a request for an order is dropped.
enum OrderDrop: CaseIterable {
    /// Before the body is read.
    case beforeReading
    /// The body was read; nothing is created.
    case beforeCreating
    /// The order exists; no byte of the answer is sent.
    case beforeAnswering
    /// The order exists; half of the answer is sent.
    case insideTheAnswer

    /// The parameter `drop`, between 0 and 1.
    static func probability(_ request: Request) throws(Problem) -> Double {
        guard let text = request.query("drop") else { return 0 }
        guard let probability = Double(text), (0...1).contains(probability) else {
            throw Problem.query("drop", "must be a number between 0 and 1")
        }
        return probability
    }

    /// - Parameter number: of the request; the same seed and number give the same.
    static func roll(_ probability: Double, seed: UInt64, number: UInt64) -> OrderDrop? {
        guard probability > 0 else { return nil }
        // Mixed before the number goes in, so that seeds that lie together do not give the same rows, shifted.
        var mixer = SplitMix64(seed: seed)
        var random = SplitMix64(seed: mixer.next() &+ number)
        guard Double.random(in: 0..<1, using: &random) < probability else { return nil }
        return allCases.randomElement(using: &random)
    }

    /// Leaves the half of the answer that its Content-Length announces.
    static func cut(_ response: inout Response) {
        guard case .bytes(let bytes) = response.body else { return }
        let half = bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes / 2) ?? ByteBuffer()
        response.body = .source(OneBuffer(bytes: half), length: bytes.readableBytes)
        response.closesConnection = true
    }

    private struct OneBuffer: BodySource {
        var bytes: ByteBuffer?

        mutating func next() -> BodyPart {
            bytes.take().map(BodyPart.bytes) ?? .end(trailers: nil)
        }
    }
}

/// Gathers the body of a request for an order.
final class OrderSink: BodySink {
    typealias Finish = (Request, OrderDrop?) throws(Problem) -> Response

    let invitation: Invitation
    private var request: Request
    private let drop: OrderDrop?
    private let limit: Int
    private let create: Finish
    private var isTooLarge = false

    init(_ request: Request, _ drop: OrderDrop?, limit: Int, _ create: @escaping Finish) {
        self.request = request
        self.drop = drop
        self.limit = limit
        self.create = create
        invitation = drop == .beforeReading ? .refused(.dropped) : .now
    }

    func receive(_ bytes: ByteBuffer) -> TimeAmount {
        isTooLarge = isTooLarge || bytes.readableBytes > limit - request.body.readableBytes
        if !isTooLarge { request.body.writeImmutableBuffer(bytes) }
        return .zero
    }

    func finish(trailers: HTTPHeaders?) -> Response {
        do throws(Problem) {
            guard !isTooLarge else { throw Problem(.payloadTooLarge, "the order is larger than \(limit) bytes") }
            return try create(request, drop)
        } catch {
            return error.response
        }
    }
}
