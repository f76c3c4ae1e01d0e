import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct ResponseDecoderTests {
    @Test(arguments: ResponseCase.all)
    func meansTheSameHoweverItIsCut(_ response: ResponseCase) {
        let wire = response.wire
        let whole = Transcript.of(wire, to: response.methods, closes: response.closes)
        #expect(whole.matches(response.expected), "\(whole.description)")
        let bytewise = Transcript.of(
            wire, cutAt: Array(wire.indices.dropFirst()), to: response.methods, closes: response.closes)
        #expect(bytewise.matches(response.expected), "a byte at a time: \(bytewise.description)")
        for cut in wire.indices {
            let halves = Transcript.of(wire, cutAt: [cut], to: response.methods, closes: response.closes)
            #expect(halves.matches(response.expected), "cut at \(cut): \(halves.description)")
        }
    }
}
