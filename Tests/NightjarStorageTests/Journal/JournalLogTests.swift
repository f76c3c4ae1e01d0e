import Glibc
import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct JournalLogTests {
    private let folder: TemporaryDirectory
    private var log: JournalLog { JournalLog(journal: folder.file("j")) }

    init() throws { folder = try TemporaryDirectory() }

    @Test func linesAreKeptInOrder() throws {
        #expect(try log.lines().isEmpty)
        log.append("one")
        log.append("two\nlines")
        #expect(try log.lines() == ["one", "twolines"])
        var status = stat()
        #expect(stat(folder.file("j.log"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func oldLinesAreDiscarded() throws {
        let line = String(repeating: "x", count: 1 << 16)
        for number in 0..<60 { log.append("\(number) \(line)") }
        let found = try log.lines()
        #expect(found.last?.hasPrefix("59 ") == true && 16...34 ~= found.count)
        let numbers = found.compactMap { Int($0.prefix { $0 != " " }) }
        #expect(numbers == Array((60 - found.count)..<60))
    }

    @Test func otherFilesAreNotChanged() throws {
        try folder.write("other", "text")
        symlink("other", folder.file("j.log"))
        log.append("line")
        #expect(try folder.read("other") == Array("text".utf8))
    }
}
