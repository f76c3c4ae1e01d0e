import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import NightjarHTTP

/// Compares Nightjar's decoder with NIOHTTP1's (llhttp). If they differ, the case must state the reason.
@Suite struct NIODifferenceTests {
    @Test(arguments: ResponseCase.all)
    func decoderAgreesWithNIOOrHasAReason(_ response: ResponseCase) {
        let wire = response.wire
        let everyByte = Array(wire.indices.dropFirst())
        let differing = ([[]] + everyByte.map { [$0] } + [everyByte]).filter { cuts in
            let ours = Transcript.of(wire, cutAt: cuts, to: response.methods, closes: response.closes)
            let nio = Summary.byNIO(wire, cutAt: cuts, to: response.methods, closes: response.closes)
            return Summary(ours) != nio
        }
        let ours = Summary(Transcript.of(wire, to: response.methods, closes: response.closes))
        let nio = Summary.byNIO(wire, cutAt: [], to: response.methods, closes: response.closes)
        switch response.nio {
        case .same:
            #expect(differing.isEmpty, "\(ours) and \(nio)")
        case .differs(let reason):
            #expect(!differing.isEmpty, "both decoders return \(ours); remove the reason \"\(reason)\"")
        }
    }

    /// The output of a decoder in a common form: the events, and whether there was an error.
    struct Summary: Equatable, CustomStringConvertible {
        var lines: [String] = []
        var failed = false

        init(_ transcript: Transcript) {
            // NIO replaces an empty reason phrase, and its decoder does not report whether the connection is reusable.
            lines = transcript.lines.map { line in
                line.first?.isNumber == true ? String(line.prefix(3)) : line.hasPrefix("end") ? "end" : line
            }
            failed = transcript.error != nil
        }

        var description: String { "\(lines)\(failed ? " and an error" : "")" }

        static func byNIO(
            _ wire: [UInt8], cutAt cuts: [Int], to methods: [Method], closes: Bool
        ) -> Summary {
            var transcript = Transcript()
            let channel = EmbeddedChannel(
                handler: ByteToMessageHandler(
                    HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward)))
            for method in methods {
                let head = HTTPRequestHead(version: .http1_1, method: .init(rawValue: method.name), uri: "/")
                channel.write(HTTPClientRequestPart.head(head), promise: nil)
            }
            var failed = false
            let bounds = [0] + cuts + [wire.count]
            for (start, end) in zip(bounds, bounds.dropFirst()) where !failed {
                do { try channel.writeInbound(ByteBuffer(bytes: wire[start..<end])) } catch { failed = true }
                drain(channel, into: &transcript)
            }
            if closes, !failed {
                channel.pipeline.fireChannelInactive()
                do { try channel.throwIfErrorCaught() } catch { failed = true }
                drain(channel, into: &transcript)
            }
            _ = try? channel.finish()
            var summary = Summary(transcript)
            summary.failed = failed
            return summary
        }

        private static func drain(_ channel: EmbeddedChannel, into transcript: inout Transcript) {
            while let part = try? channel.readInbound(as: HTTPClientResponsePart.self) {
                switch part {
                case .head(let head): transcript.append("\(head.status.code) \(head.status.reasonPhrase)")
                case .body(let content): transcript.append(content: content)
                case .end(let trailers):
                    for (name, value) in trailers ?? [:] { transcript.append("+ \(name): \(value)") }
                    transcript.append("end")
                }
            }
        }
    }
}
