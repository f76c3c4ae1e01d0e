import Testing

@testable import NightjarHTTP

@Suite struct HTTP2FrameLimitTests {
    private func receive(
        _ type: UInt8, _ length: Int, flags: UInt8 = 0, at now: UInt64 = 1, by limit: inout HTTP2FrameLimit
    ) -> Bool {
        limit.received(type: type, flags: flags, length: length, at: now)
    }

    private var small: HTTP2FrameLimit {
        var settings = HTTP2FrameLimit.Settings()
        settings.capacity = 10
        settings.perContent = 2
        settings.perSecond = 5
        return HTTP2FrameLimit(settings)
    }

    /// PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION, ALTSVC, an unknown type,
    /// and empty DATA.
    @Test(arguments: [2, 3, 4, 5, 6, 7, 8, 9, 10, 0xF0, 0] as [UInt8])
    func floodIsDetected(type: UInt8) {
        var limit = small
        let length = type == 0 ? 0 : 8
        for _ in 0..<10 { #expect(receive(type, length, by: &limit)) }
        #expect(!receive(type, length, by: &limit))
        // The limit stays exceeded.
        #expect(!receive(0, 100, by: &limit))
    }

    @Test func contentAndTimeAddUnits() {
        var limit = small
        for _ in 0..<1000 {
            #expect(receive(6, 8, by: &limit) && receive(0, 5, by: &limit))
            #expect(receive(8, 4, by: &limit) && receive(1, 5, flags: 5, by: &limit))
        }
        for _ in 0..<10 { #expect(receive(6, 8, by: &limit)) }
        // Five units for one second.
        for _ in 0..<5 { #expect(receive(6, 8, at: 1_000_000_001, by: &limit)) }
        #expect(!receive(6, 8, at: 1_000_000_001, by: &limit))
    }

    @Test func requestsAndSentBytesAddUnits() {
        var limit = small
        for _ in 0..<10 { #expect(receive(6, 8, by: &limit)) }
        for _ in 0..<4 { limit.sent(bytes: 512) }
        for _ in 0..<4 { #expect(receive(6, 8, by: &limit)) }
        limit.requestStarted()
        for _ in 0..<2 { #expect(receive(6, 8, by: &limit)) }
        #expect(!receive(6, 8, by: &limit))
    }

    /// A response of HEADERS and an empty DATA frame.
    @Test func responsesWithoutContentDoNotExceedTheLimit() {
        var limit = small
        for _ in 0..<1000 {
            limit.requestStarted()
            #expect(receive(1, 30, flags: 4, by: &limit) && receive(0, 0, flags: 1, by: &limit))
        }
    }

    @Test func extremeValuesDoNotOverflow() {
        var limit = small
        limit.sent(bytes: .max)
        limit.sent(bytes: .min)
        #expect(receive(6, 8, at: .max, by: &limit))
        #expect(receive(6, 8, at: 0, by: &limit))
    }
}
