import CPlatform
import Glibc
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct PartFileTests {
    private let folder: TemporaryDirectory
    private var part: String { folder.file("a" + PartFile.suffix) }
    private var target: DownloadTarget { get throws { try DownloadTarget(folder.file("a")) } }

    init() throws { folder = try TemporaryDirectory() }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private func record(_ count: Int, isSequential: Bool = true, boot: String = PartFile.boot) -> DownloadRecord {
        var record = DownloadRecord()
        (record.received, record.total, record.isSequential) = (RangeSet(0..<count), 100, isSequential)
        record.part = part
        (record.validator, record.boot) = (StrongValidator(.entityTag, "\"a\""), boot)
        return record
    }

    /// Opens the part again with `length` bytes and this record.
    private func reopened(_ length: Int, _ record: DownloadRecord) throws -> DownloadRecord? {
        let part = try PartFile(part, mode: nil)
        try part.reset()
        try part.write(ByteBuffer(repeating: 1, count: length), at: 0)
        try part.write(record)
        part.close()
        return try PartFile(self.part, mode: nil).record()
    }

    // MARK: Completion

    @Test func completePartBecomesTheFile() throws {
        let part = try PartFile(part, mode: nil)
        try part.write(ByteBuffer(string: "world"), at: 5)
        try part.write(ByteBuffer(string: "hello"), at: 0)
        try part.write(record(10))
        var completion = try PartFile.Completion(target: target, name: "x", overwrites: true)
        (completion.mode, completion.modified) = (0o640, 1_000_000)
        #expect(throws: NightjarError.self) { try part.complete(completion, total: 11) }
        #expect(exists(self.part))
        let path = try part.complete(completion, total: 10)
        #expect(path == (try target.path(of: "a")))
        #expect(String(decoding: try folder.read("a"), as: UTF8.self) == "helloworld")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mtim.tv_sec == 1_000_000 && status.st_mode & 0o777 == 0o640)
        #expect(!exists(self.part) && !exists(self.part + PartFile.stateSuffix))
    }

    @Test func existingFileIsKept() throws {
        try folder.write("a", "old")
        let part = try PartFile(part, mode: nil)
        let completion = try PartFile.Completion(target: target, name: "x", overwrites: false)
        let error = #expect(throws: NightjarError.self) { try part.complete(completion, total: 0) }
        #expect(error?.kind == .storage && error?.message.contains("exists already") == true)
        #expect(try folder.read("a") == Array("old".utf8) && exists(self.part))
    }

    @Test func nameInAFolderGetsANumber() throws {
        try folder.write("x.tar", "old")
        try folder.write("x-1.tar", "old")
        let target = try DownloadTarget(folder.path)
        let part = try PartFile(target.part(urlHash: "0123456789", urlName: "y"), mode: nil)
        #expect(part.path.hasSuffix("/y-01234567.nightjar-part"))
        let completion = PartFile.Completion(target: target, name: "x.tar", overwrites: false)
        #expect(try part.complete(completion, total: 0).hasSuffix("/x-2.tar"))
    }

    @Test func symbolicLinkIsKept() throws {
        try folder.write("real", "old")
        #expect(symlink("real", folder.file("link")) == 0)
        let target = try DownloadTarget(folder.file("link"))
        let part = try PartFile(target.part(urlHash: "", urlName: nil), mode: nil)
        try part.write(ByteBuffer(string: "new"), at: 0)
        _ = try part.complete(.init(target: target, name: "", overwrites: true), total: 3)
        #expect(try folder.read("real") == Array("new".utf8))
        var status = stat()
        #expect(lstat(folder.file("link"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    }

    @Test(arguments: ["/dev/null", "/no/such/folder/a", "/no/such/folder/", "", "a\0b"])
    func unusableTargetIsRejected(path: String) { #expect(throws: NightjarError.self) { try DownloadTarget(path) } }

    @Test func longNameIsShortened() throws {
        let name = String(repeating: "n", count: 255)
        let target = try DownloadTarget(folder.file(name))
        let part = try PartFile(target.part(urlHash: "0123456789", urlName: nil), mode: nil)
        try part.write(DownloadRecord())
        _ = try part.complete(.init(target: target, name: "", overwrites: true), total: 0)
        #expect(exists(folder.file(name)))
    }

    /// Another file may get the descriptor.
    @Test func closedPartIsNotUsed() throws {
        let part = try PartFile(part, mode: nil)
        try part.write(ByteBuffer(string: "abc"), at: 0)
        part.close()
        let decoy = open(folder.file("decoy"), O_RDWR | O_CREAT, 0o600)
        defer { Glibc.close(decoy) }
        #expect(throws: NightjarError.self) { try part.reset() }
        #expect(throws: NightjarError.self) { try part.sync() }
        #expect(throws: NightjarError.self) { try part.write(ByteBuffer(string: "x"), at: 0) }
        #expect(throws: NightjarError.self) { try part.length() }
        #expect(throws: NightjarError.self) { try part.checkSpace(for: 1) }
        #expect(throws: NightjarError.self) {
            try part.verify(Checksum("md5:900150983cd24fb0d6963f7d28e17f72")) { false }
        }
        #expect(try folder.read("a" + PartFile.suffix) == Array("abc".utf8))
    }

    /// The name belongs to the file, which must not be removed.
    @Test func completePartIsClosed() throws {
        let part = try PartFile(part, mode: nil)
        let path = try part.complete(.init(target: target, name: "x", overwrites: true), total: 0)
        try folder.write("a" + PartFile.suffix, "of another download")
        part.discard()
        #expect(exists(path) && exists(self.part))
    }

    @Test func renameWithoutHardLinksKeepsAFile() throws {
        try folder.write("old", "old")
        try folder.write("new", "new")
        #expect(cplatform_rename_created(folder.file("old"), folder.file("new")) == EEXIST)
        #expect(try folder.read("new") == Array("new".utf8))
        #expect(cplatform_rename_created(folder.file("old"), folder.file("other")) == 0)
        #expect(try folder.read("other") == Array("old".utf8) && !exists(folder.file("old")))
        #expect(cplatform_rename_created(folder.file("missing"), folder.file("another")) == ENOENT)
        #expect(!exists(folder.file("another")))
    }

    // MARK: Other processes and users

    /// The system would end the path at the NUL, and another file would be truncated.
    @Test(arguments: ["victim\0.nightjar-part", "relative.nightjar-part"])
    func pathOfAPartIsChecked(name: String) throws {
        try folder.write("victim", "old")
        let path = name.hasPrefix("relative") ? name : folder.file(name)
        let error = #expect(throws: NightjarError.self) { try PartFile(path, mode: nil) }
        #expect(error?.kind == .invalidArgument)
        #expect(try folder.read("victim") == Array("old".utf8))
    }

    @Test func missingPartIsCreatedByRequest() throws {
        let error = #expect(throws: NightjarError.self) { try PartFile(part, mode: nil, creates: false) }
        #expect(error?.code == ENOENT && !exists(part))
    }

    @Test func modeAppliesToAnExistingPart() throws {
        try PartFile(part, mode: 0o644).close()
        let part = try PartFile(part, mode: 0o40)
        var status = stat()
        #expect(stat(part.path, &status) == 0 && status.st_mode & 0o7777 == 0o640)
    }

    /// A forked child has a copy of the descriptor.
    @Test func closeReleasesTheLockOfAForkedChild() throws {
        let first = try PartFile(part, mode: nil)
        let copy = try #require(folder.copyOfDescriptor("a" + PartFile.suffix))
        defer { close(copy) }
        first.close()
        _ = try PartFile(part, mode: nil)
    }

    @Test(.enabled(if: access("/dev/shm", W_OK) == 0)) func otherFileSystemIsFound() throws {
        let part = try PartFile(part, mode: nil)
        try part.checkFileSystem(of: folder.path)
        let error = #expect(throws: NightjarError.self) { try part.checkFileSystem(of: "/dev/shm") }
        #expect(error?.kind == .storage && error?.code == EXDEV)
    }

    @Test func secondDownloadIsExcluded() throws {
        let first = try PartFile(part, mode: nil)
        let error = #expect(throws: NightjarError.self) { try PartFile(part, mode: nil) }
        #expect(error?.kind == .storage && error?.message.contains("another download") == true)
        first.close()
        _ = try PartFile(part, mode: nil)
    }

    @Test func preparedFilesAreRejected() throws {
        try folder.write("other", "x")
        #expect(symlink("other", part) == 0)
        #expect(throws: NightjarError.self) { try PartFile(part, mode: nil) }
        unlink(part)
        #expect(link(folder.file("other"), part) == 0)
        #expect(throws: NightjarError.self) { try PartFile(part, mode: nil) }
        unlink(part)
        #expect(mkfifo(part, 0o600) == 0)
        #expect(throws: NightjarError.self) { try PartFile(part, mode: nil) }
    }

    @Test func stateFileOfOthersIsIgnored() throws {
        let part = try PartFile(part, mode: nil)
        try part.write(record(0))
        try folder.write("other", Bytes(Array(record(0).text.utf8)))
        let state = self.part + PartFile.stateSuffix
        unlink(state)
        #expect(symlink("other", state) == 0)
        #expect(part.record() == nil)
        // Replaces the link, not its target.
        try part.write(record(0))
        #expect(part.record() != nil)
    }

    // MARK: State

    /// A killed process has written more than its state says.
    @Test func lengthOfASequentialPartCounts() throws {
        #expect(try reopened(30, record(10))?.received == RangeSet(0..<30))
        #expect(try reopened(5, record(10))?.received == RangeSet(0..<5))
        #expect(try reopened(101, record(10)) == nil)
    }

    @Test func recordOfAPartWithGapsCounts() throws {
        #expect(try reopened(30, record(10, isSequential: false))?.received == RangeSet(0..<10))
        #expect(try reopened(5, record(10, isSequential: false)) == nil)
    }

    /// After another boot, bytes that were not synced may be missing.
    @Test func syncedBytesCountAfterAnotherBoot() throws {
        var record = record(20, boot: "other")
        #expect(try reopened(30, record)?.received == RangeSet())
        record.synced = RangeSet(0..<15)
        #expect(try reopened(30, record)?.received == RangeSet(0..<15))
        #expect(try reopened(10, record)?.received == RangeSet(0..<10))
    }

    /// The part has bytes that were not synced. They must not follow the bytes that are written after them.
    @Test func bytesAfterAnotherBootAreRemoved() throws {
        var record = record(20, boot: "other")
        record.synced = RangeSet(0..<15)
        _ = try reopened(30, record)
        let part = try PartFile(part, mode: nil)
        record = try #require(part.record())
        try part.keep(record)
        #expect(try part.length() == 15)
        try part.write(ByteBuffer(repeating: 2, count: 3), at: 15)
        record.boot = PartFile.boot
        try part.write(record)
        part.close()
        #expect(try PartFile(self.part, mode: nil).record()?.received == RangeSet(0..<18))
    }

    @Test func partWithGapsKeepsItsLength() throws {
        let record = record(10, isSequential: false)
        _ = try reopened(30, record)
        let part = try PartFile(part, mode: nil)
        try part.keep(record)
        #expect(try part.length() == 30)
    }

    /// The bytes of a response without its digest were synced, but are not received.
    @Test func syncedBytesMustBeReceived() throws {
        var record = record(20, isSequential: false, boot: "other")
        record.received.remove(5..<10)
        record.synced = RangeSet(0..<15)
        let found = try #require(try reopened(30, record))
        #expect(found.received.ranges == [0..<5, 10..<15] && found.synced == found.received)
    }

    @Test func damagedStateIsIgnored() throws {
        let part = try PartFile(part, mode: nil)
        try part.write(record(0))
        let text = try folder.read("a" + PartFile.suffix + PartFile.stateSuffix)
        for count in 0..<text.count {
            try folder.write("a" + PartFile.suffix + PartFile.stateSuffix, Bytes(Array(text.prefix(count))))
            #expect(part.record() == nil)
        }
    }

    @Test func resetDiscardsContentAndState() throws {
        let part = try PartFile(part, mode: nil)
        try part.write(ByteBuffer(string: "abc"), at: 0)
        try part.write(record(3))
        try part.reset()
        #expect(try part.length() == 0 && part.record() == nil)
    }

    @Test func discardRemovesTheFiles() throws {
        let part = try PartFile(part, mode: nil)
        try part.write(record(0))
        part.discard()
        #expect(!exists(self.part) && !exists(self.part + PartFile.stateSuffix))
    }

    // MARK: Digest and space

    @Test func digestIsCompared() throws {
        let part = try PartFile(part, mode: nil)
        try part.write(ByteBuffer(string: "abc"), at: 0)
        try part.verify(Checksum("md5:900150983cd24fb0d6963f7d28e17f72")) { false }
        try part.verify(Checksum("sha1:a9993e364706816aba3e25717850c26c9cd0d89d")) { false }
        let wrong = try Checksum("md5:000150983cd24fb0d6963f7d28e17f72")
        var error = #expect(throws: NightjarError.self) { try part.verify(wrong) { false } }
        #expect(error?.kind == .checksumMismatch)
        error = #expect(throws: NightjarError.self) { try part.verify(wrong) { true } }
        #expect(error?.kind == .cancelled)
    }

    @Test func missingSpaceIsReported() throws {
        let part = try PartFile(part, mode: nil)
        try part.checkSpace(for: 1000)
        let error = #expect(throws: NightjarError.self) { try part.checkSpace(for: .max) }
        #expect(error?.kind == .storage && error?.code == ENOSPC)
    }
}
