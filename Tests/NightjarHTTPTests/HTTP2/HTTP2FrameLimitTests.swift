import Testing

@testable import NightjarHTTP

@Suite struct HTTP2FrameLimitTests {
    private func frame(_ type: UInt8, _ length: Int, flags: UInt8 = 0) -> [UInt8] {
        [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags, 0, 0, 0, 1]
            + Array(repeating: 0xAA, count: length)
    }

    private func receive(_ bytes: [UInt8], at now: UInt64 = 1, by limit: inout HTTP2FrameLimit) -> Bool {
        bytes.withUnsafeBytes { limit.receive($0, at: now) }
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
        for _ in 0..<10 { #expect(receive(frame(type, length), by: &limit)) }
        #expect(!receive(frame(type, length), by: &limit))
        // The limit stays exceeded.
        #expect(!receive(frame(0, 100), by: &limit))
    }

    @Test func floodInOneReadIsDetected() {
        var limit = small
        #expect(!receive((0..<5000).flatMap { _ in frame(6, 8) }, by: &limit))
    }

    @Test func contentAndTimeRefill() {
        var limit = small
        for _ in 0..<1000 {
            #expect(receive(frame(6, 8) + frame(0, 5), by: &limit))
            #expect(receive(frame(8, 4) + frame(1, 5, flags: 5), by: &limit))
        }
        for _ in 0..<10 { #expect(receive(frame(6, 8), by: &limit)) }
        // Five units for one second.
        for _ in 0..<5 { #expect(receive(frame(6, 8), at: 1_000_000_001, by: &limit)) }
        #expect(!receive(frame(6, 8), at: 1_000_000_001, by: &limit))
    }

    @Test func sentBytesRefill() {
        var limit = small
        for _ in 0..<10 { #expect(receive(frame(6, 8), by: &limit)) }
        for _ in 0..<4 { limit.sent(bytes: 512) }
        for _ in 0..<4 { #expect(receive(frame(6, 8), by: &limit)) }
        #expect(!receive(frame(6, 8), by: &limit))
    }

    @Test func framesMayArriveInParts() {
        let bytes = frame(6, 8) + frame(0, 300) + frame(4, 0) + frame(6, 8)
        for split in 0...bytes.count {
            var limit = small
            limit = small
            #expect(receive(Array(bytes[..<split]), by: &limit) && receive(Array(bytes[split...]), by: &limit))
        }
        var limit = small
        for _ in 0..<3 { for byte in bytes { #expect(receive([byte], by: &limit)) } }
    }
}
