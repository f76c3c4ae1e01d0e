import NIOCore
import NightjarCoding
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// A case of the Autobahn testsuite for clients that send each message back, as data.
struct AutobahnCase: Sendable, CustomTestStringConvertible {
    /// How a case uses permessage-deflate.
    enum Compression: Sendable, CaseIterable {
        /// The extension is not negotiated.
        case none
        /// The extension is negotiated, but the server compresses no message.
        case unused
        /// The server compresses each message.
        case used
    }

    /// The number in the testsuite.
    let id: String
    let claim: String
    let frames: [ServerFrame]
    /// The log of ``WebSocketConversation``.
    let expected: [String]
    /// The expected log if the extension is negotiated, if it differs.
    let expectedWithExtension: [String]?
    /// False if the frames do not form messages that can be compressed.
    let isCompressible: Bool

    init(
        _ id: String, _ claim: String, _ frames: [ServerFrame], _ expected: [[String]],
        withExtension: [[String]]? = nil, isCompressible: Bool = true
    ) {
        self.id = id
        self.claim = claim
        self.frames = frames
        self.expected = expected.flatMap { $0 }
        expectedWithExtension = withExtension?.flatMap { $0 }
        self.isCompressible = isCompressible
    }

    var testDescription: String { "\(id) \(claim)" }

    /// Returns the expected log.
    func expected(_ compression: Compression) -> [String] {
        compression == .none ? expected : expectedWithExtension ?? expected
    }

    /// Returns the bytes of the server.
    func wire(_ compression: Compression, _ agreement: WebSocketDeflate.Agreement) -> [UInt8] {
        guard compression == .used, isCompressible else { return frames.flatMap(\.wire) }
        return AutobahnCase.compressed(frames, MessageDeflate(agreement.swapped)).flatMap(\.wire)
    }

    /// Compresses each message and splits it into as many frames as before.
    private static func compressed(_ frames: [ServerFrame], _ codec: MessageDeflate) -> [ServerFrame] {
        var frames = frames
        var start = 0
        while let first = frames[start...].firstIndex(where: \.isData) {
            let last = frames[first...].firstIndex { $0.isData && $0.isFinal }
            let parts = (first...(last ?? frames.count - 1)).filter { frames[$0].isData }
            var output = ByteBuffer()
            let payload = ByteBuffer(bytes: parts.flatMap { frames[$0].payload })
            do throws(NightjarError) {
                try codec.deflate(payload, endsMessage: last != nil, into: &output)
            } catch {
                Issue.record("the server cannot compress: \(error)")
            }
            let bytes = Array(output.readableBytesView)
            for (index, part) in parts.enumerated() {
                let cut = (bytes.count * index / parts.count, bytes.count * (index + 1) / parts.count)
                frames[part].payload = Array(bytes[cut.0..<cut.1])
            }
            frames[first].reserved |= 4
            start = (last ?? frames.count - 1) + 1
        }
        return frames
    }
}

/// Parts of the expected log.
enum Expect {
    static func echo(_ text: Bytes) -> [String] {
        let shown = WebSocketConversation.shown(text.array)
        return ["text \(shown)", "sent text \(shown)"]
    }

    static func echo(binary: [UInt8]) -> [String] {
        let shown = WebSocketConversation.shown(binary)
        return ["binary \(shown)", "sent binary \(shown)"]
    }

    static func pong(_ payload: Bytes = "") -> [String] {
        let shown = WebSocketConversation.shown(payload.array)
        return ["ping \(shown)", "sent pong \(shown)"]
    }

    static func unsolicited(_ payload: Bytes = "") -> [String] {
        ["pong \(WebSocketConversation.shown(payload.array))"]
    }

    /// The end after a Close frame of the server with a code.
    static func closed(_ code: Int = 1000) -> [String] { ["closed \(code) clean", "sent close \(code)"] }
    /// The end after a violation.
    static func failed(_ code: Int) -> [String] { ["closed \(code)", "sent close \(code)"] }
}
