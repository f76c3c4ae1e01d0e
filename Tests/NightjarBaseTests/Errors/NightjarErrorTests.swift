import Testing

@testable import NightjarBase

@Suite struct NightjarErrorTests {
    @Test(arguments: ErrorKind.allCases)
    func everyKindExceptCancelledHasAUserMessage(kind: ErrorKind) {
        let message = NightjarError(kind, "what happened").userMessage
        #expect((message == nil) == (kind == .cancelled))
        #expect(message?.hasSuffix(".") ?? true)
        // A message for users must not contain technical terms.
        for word in ["HTTP", "JSON", "TLS", "DNS", "URL", "NULL", "connection lost"] {
            #expect(message?.contains(word) != true)
        }
    }

    @Test(arguments: [
        (ErrorKind.offline, true), (.dns, true), (.connect, true), (.timeout, true), (.connectionLost, true),
        (.rateLimited, true), (.tls, false), (.pinMismatch, false), (.protocol, false), (.tooLarge, false),
        (.decoding, false), (.unauthorized, false), (.cancelled, false), (.closed, false), (.invalidRequest, false),
    ])
    func temporaryErrorsAreRetryable(kind: ErrorKind, isRetryable: Bool) {
        #expect(NightjarError(kind, "x").isRetryable == isRetryable)
    }
}
