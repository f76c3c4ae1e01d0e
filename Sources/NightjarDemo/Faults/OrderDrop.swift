import NIOCore
import NIOHTTP1

/// The point at which the connection of an order request is closed.
enum OrderDrop: CaseIterable {
    /// Before the body is read.
    case beforeReading
    /// After the body was read, before the order is created.
    case beforeCreating
    /// After the order was created, before any byte of the response is sent.
    case beforeResponding
    /// After the order was created and half of the response was sent.
    case insideResponse

    /// Reads the parameter `drop`, between 0 and 1.
    static func probability(_ request: Request) throws(Problem) -> Double {
        guard let text = request.query("drop") else { return 0 }
        guard let probability = Double(text), (0...1).contains(probability) else {
            throw Problem.query("drop", "must be a number between 0 and 1")
        }
        return probability
    }

    /// Returns the point at which to close the connection, if any. Equal seeds and numbers give equal results.
    static func roll(_ probability: Double, seed: UInt64, number: UInt64) -> OrderDrop? {
        guard probability > 0 else { return nil }
        // The seed is mixed before the number is added. Otherwise, adjacent seeds would give the same sequence, shifted
        // by one.
        var mixer = SplitMix64(seed: seed)
        var random = SplitMix64(seed: mixer.next() &+ number)
        guard Double.random(in: 0..<1, using: &random) < probability else { return nil }
        return allCases.randomElement(using: &random)
    }

    /// Closes the connection after half of the body. HTTP/2: resets the stream.
    static func cut(_ response: inout Response) {
        guard case .bytes(let bytes) = response.body else { return }
        let half = bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes / 2) ?? ByteBuffer()
        response.body = .source(HalfBody(bytes: half), length: bytes.readableBytes)
        response.closesConnection = true
    }

    private struct HalfBody: BodySource {
        var bytes: ByteBuffer?

        mutating func next() -> BodyPart {
            bytes.take().map(BodyPart.bytes) ?? .cut
        }
    }
}

/// Collects the body of an order request.
final class OrderSink: BodySink {
    typealias Finish = (Request, OrderDrop?) throws(Problem) -> Response

    let continueResponse: ContinueResponse
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
        continueResponse = drop == .beforeReading ? .refused(.dropped) : .now
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
