import NIOCore
import NightjarHTTP

/// Reads an asynchronous sequence for an upload, when the upload requests bytes.
final class UploadSequence: Sendable {
    private struct Demand: Sendable {
        let upload: UploadOperation
        let maximum: Int
    }

    private let demands: AsyncStream<Demand>
    private let source: AsyncStream<Demand>.Continuation

    init() { (demands, source) = AsyncStream.makeStream(of: Demand.self) }

    /// Requests the next bytes, which are provided later.
    func read(_ upload: UploadOperation, _ maximum: Int) -> TaskHandlers.BodyPart {
        source.yield(Demand(upload: upload, maximum: maximum))
        return .later
    }

    /// Reads the sequence until the upload has ended.
    func start<Parts: AsyncSequence & Sendable>(_ parts: Parts) where Parts.Element == ByteBuffer {
        let task = Task { [demands] in
            var iterator = parts.makeAsyncIterator()
            var rest = ByteBuffer()
            for await demand in demands {
                do {
                    while rest.readableBytes == 0 {
                        guard let part = try await iterator.next() else { return demand.upload.provide(.end) }
                        rest = part
                    }
                } catch {
                    return demand.upload.provide(.failed("\(error)"))
                }
                let slice = rest.readSlice(length: min(demand.maximum, rest.readableBytes))
                demand.upload.provide(.bytes(slice ?? ByteBuffer()))
            }
        }
        source.onTermination = { _ in task.cancel() }
    }

    /// Ends the reading. The upload has ended.
    func end() { source.finish() }
}
