import NIOCore
import Nightjar
import NightjarTestSupport
import Synchronization
import Testing

/// Request bodies that are read from files while they are sent.
@Suite struct UploadTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Bytes that repeat in no short period, so that parts in a wrong order show.
    private func content(_ count: Int) -> [UInt8] {
        var random = SeededRandom(seed: UInt64(count))
        return random.bytes(count)
    }

    private func write(_ name: String, _ bytes: [UInt8]) throws -> String { try folder.write(name, Bytes(bytes)) }

    /// A request that does not ask before it sends, as these peers do not answer that.
    private func put(_ body: RequestBody, to target: String = "/") -> Request {
        var request = Request(.put, target)
        request.body = body
        request.expectsContinue = false
        return request
    }

    @Test(arguments: [0, 1, 131_072, 131_073, 3_000_000])
    func aFileIsSentWhole(size: Int) throws {
        let bytes = content(size)
        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let client = try client(of: peer)
        #expect(try client.sendBlocking(put(.file(path: write("photo.png", bytes)))).status == 200)
        let received = try #require(peer.requests.first)
        #expect(received.body == bytes)
        #expect(received["content-length"] == String(size))
        #expect(received["content-type"] == "image/png")
        #expect(peer.failures == [])
    }
}
