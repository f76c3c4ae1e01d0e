import NIOCore
import NIOHTTP1

/// `/upload`: computes the length and checksum of a body of any length without storing it.
///
/// With `?rate=` (bytes per second), the server reads no faster than this rate, to slow down the client.
final class Upload: BodySink {
    private let rate: Int?
    private var length = 0
    private var pieces = 0
    private var checksum = CRC32()

    static func open(_ request: Request) throws(Problem) -> any BodySink {
        let hasRate = request.query("rate") != nil
        let rate = try request.query("rate", in: 1...(1 << 40), or: 1)
        return Upload(rate: hasRate ? rate : nil)
    }

    private init(rate: Int?) {
        self.rate = rate
    }

    func receive(_ bytes: ByteBuffer) -> TimeAmount {
        length += bytes.readableBytes
        pieces += 1
        checksum.update(bytes)
        guard let rate else { return .zero }
        return TimeAmount(seconds: Double(bytes.readableBytes) / Double(rate))
    }

    func finish(trailers: HTTPHeaders?) -> Response {
        let trailers = trailers?.map { JSON.array([.string($0.name), .string($0.value)]) } ?? []
        return .json([
            "bytes": .int(length),
            "crc32": .string(checksum.text),
            "pieces": .int(pieces),
            "trailers": .array(trailers),
        ])
    }
}
