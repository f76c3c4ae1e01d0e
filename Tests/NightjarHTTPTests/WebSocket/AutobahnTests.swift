import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// The cases of the Autobahn testsuite (version 0.8.2), and some for rules that it does not cover. Cases that differ
/// from another case only in the sizes of the server's writes are omitted, because each case runs whole, byte by byte
/// and, if it is short, split at each position.
@Suite struct AutobahnTests {
    private typealias Compression = AutobahnCase.Compression

    @Test(
        arguments: AutobahnCase.framing + AutobahnCase.pings + AutobahnCase.reservedBits + AutobahnCase.opcodes,
        AutobahnCase.Compression.allCases)
    func framingIsChecked(_ item: AutobahnCase, _ compression: AutobahnCase.Compression) {
        run(item, compression)
    }

    @Test(
        arguments: AutobahnCase.fragmentation + AutobahnCase.headers + AutobahnCase.closing,
        AutobahnCase.Compression.allCases)
    func sequencesOfFramesAreChecked(_ item: AutobahnCase, _ compression: AutobahnCase.Compression) {
        run(item, compression)
    }

    @Test(arguments: AutobahnCase.unicode, AutobahnCase.Compression.allCases)
    func textIsChecked(_ item: AutobahnCase, _ compression: AutobahnCase.Compression) { run(item, compression) }

    @Test(arguments: AutobahnCase.large, AutobahnCase.Compression.allCases)
    func largeMessagesAreReturned(_ item: AutobahnCase, _ compression: AutobahnCase.Compression) {
        run(item, compression)
    }

    @Test(arguments: AutobahnCase.compression)
    func compressedMessagesAreReturned(_ item: AutobahnCase) { run(item, .used) }

    /// The parameters of the families 13.1 to 13.7.
    @Test(
        arguments: AutobahnCase.parameters,
        [
            WebSocketDeflate.Agreement(),
            WebSocketDeflate.Agreement(serverResetsContext: true, clientResetsContext: true),
            WebSocketDeflate.Agreement(serverWindowBits: 9, clientWindowBits: 9),
            WebSocketDeflate.Agreement(serverWindowBits: 15, clientWindowBits: 15),
            WebSocketDeflate.Agreement(
                serverWindowBits: 9, clientWindowBits: 9, serverResetsContext: true, clientResetsContext: true),
            WebSocketDeflate.Agreement(
                serverWindowBits: 15, clientWindowBits: 8, serverResetsContext: true, clientResetsContext: true),
            WebSocketDeflate.Agreement(serverWindowBits: 12, clientWindowBits: 8),
        ])
    func parametersAreApplied(_ item: AutobahnCase, _ agreement: WebSocketDeflate.Agreement) {
        run(item, .used, agreement)
    }

    private func run(
        _ item: AutobahnCase, _ compression: AutobahnCase.Compression,
        _ agreement: WebSocketDeflate.Agreement = WebSocketDeflate.Agreement()
    ) {
        let wire = item.wire(compression, agreement)
        let deflate = compression == .none ? nil : agreement
        check(item, compression, wire, deflate, cutAt: [], "whole")
        // The cost of large cases is in the transcript, so they are split into larger parts.
        let step = wire.count <= 4096 ? 1 : wire.count / 500
        check(
            item, compression, wire, deflate, cutAt: Array(stride(from: step, to: wire.count, by: step)),
            "in pieces of \(step)")
        guard wire.count <= 160 else { return }
        for cut in wire.indices.dropFirst() {
            check(item, compression, wire, deflate, cutAt: [cut], "cut at \(cut)")
        }
    }

    private func check(
        _ item: AutobahnCase, _ compression: AutobahnCase.Compression, _ wire: [UInt8],
        _ deflate: WebSocketDeflate.Agreement?, cutAt cuts: [Int], _ form: String
    ) {
        let conversation = WebSocketConversation(deflate: deflate)
        conversation.echoes = true
        for (start, end) in zip([0] + cuts, cuts + [wire.count]) { conversation.receive(Array(wire[start..<end])) }
        conversation.endOfStream()
        let expected = item.expected(compression) + ["close transport"]
        let log = conversation.takeLog()
        if log != expected {
            Issue.record("\(item.id), compression \(compression), \(form): \(log.suffix(6)), not \(expected.suffix(6))")
        }
    }
}
