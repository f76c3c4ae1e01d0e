import Foundation
import Glibc
import NightjarTestSupport
import Testing

@Suite struct PortsTests {
    @Test func refusedPortHasNoListener() throws {
        let port = try Ports.refused()
        #expect(throws: SocketError(call: "connect", code: ECONNREFUSED)) { try Socket(connectingTo: port) }
    }

    /// curl exits with 28 after a connect timeout, and with 7 if the connection is refused.
    @Test func silentListenerCausesAConnectTimeout() throws {
        let listener = try SilentListener()
        let curl = try run("curl", ["-s", "--connect-timeout", "0.2", "http://127.0.0.1:\(listener.port)/"])
        #expect(curl.status == 28)
    }

    @Test func randomNumbersAreRepeatable() {
        var (first, second, other) = (SeededRandom(seed: 3), SeededRandom(seed: 3), SeededRandom(seed: 5))
        let bytes = first.bytes(64)
        #expect(bytes == second.bytes(64))
        #expect(bytes != other.bytes(64))
    }

    @Test func everyBitOfTheSeedCounts() {
        var random = SeededRandom(seed: 6)
        let numbers = (0..<4).map { _ in random.next() }
        for bit in 0..<64 {
            var other = SeededRandom(seed: 6 ^ (1 << UInt64(bit)))
            let others = (0..<4).map { _ in other.next() }
            #expect(numbers != others, "bit \(bit)")
        }
        // A seed that the generator must replace because its state would be zero.
        var zero = SeededRandom(seed: 0x9E37_79B9_7F4A_7C15)
        let (first, second) = (zero.next(), zero.next())
        #expect(first != second)
    }

    @Test func temporaryDirectoryIsRemovedWithItsOwner() throws {
        var directory: TemporaryDirectory? = try TemporaryDirectory()
        let path = try #require(try directory?.write("a", "b"))
        #expect(access(path, F_OK) == 0)
        directory = nil
        #expect(access(path, F_OK) != 0)
    }

    @Test func timeoutNamesTheMissingCondition() {
        let error = #expect(throws: NeverHappened.self) { try eventually("pigs flew", within: .zero) { false } }
        #expect(error?.description == "within 0.0 seconds it never happened that pigs flew")
    }

    @Test func asyncWaitDoesNotBlock() async throws {
        let latch = Latch()
        // A separate thread, because other tests may block the threads of Swift tasks for a long time.
        Thread.detachNewThread {
            usleep(20_000)
            latch.open()
        }
        try await eventually("the latch opened") {
            await Task.yield()
            return latch.isOpen
        }
    }
}
