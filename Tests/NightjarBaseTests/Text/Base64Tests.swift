import Foundation
import NightjarTestSupport
import Testing

@testable import NightjarBase

@Suite struct Base64Tests {
    @Test func encodingAgreesWithFoundation() {
        var random = SeededRandom(seed: 5)
        for count in 0...200 {
            let bytes = random.bytes(count)
            #expect(Base64.encode(bytes) == Data(bytes).base64EncodedString())
        }
    }
}
