import Glibc
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct FileLockTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func lockExcludesOtherHoldersOfTheByte() throws {
        let lock = try #require(try FileLock.take(folder.file("lock"), byte: 0))
        #expect(try FileLock.take(folder.file("lock"), byte: 0) == nil)
        let other = try #require(try FileLock.take(folder.file("lock"), byte: 1))
        lock.unlock()
        #expect(try FileLock.take(folder.file("lock"), byte: 0) != nil)
        #expect(try FileLock.take(folder.file("lock"), byte: 1) == nil)
        other.unlock()
    }

    /// A forked child has a copy of the descriptor.
    @Test func unlockReleasesTheLockOfAForkedChild() throws {
        let lock = try #require(try FileLock.take(folder.file("lock"), byte: 3))
        let copy = try #require(folder.copyOfDescriptor("lock"))
        defer { close(copy) }
        lock.unlock()
        #expect(try FileLock.take(folder.file("lock"), byte: 3) != nil)
    }
}
