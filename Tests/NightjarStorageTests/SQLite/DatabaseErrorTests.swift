import NightjarTestSupport
import Testing

@testable import NightjarStorage

@Suite struct DatabaseErrorTests {
    /// Primary and extended result codes of SQLite. Unusable tables are damage, like unusable pages.
    @Test(
        arguments: [
            (1, .damaged), (1 | 1 << 8, .damaged), (11, .damaged), (18, .damaged), (19, .damaged),
            (19 | 12 << 8, .damaged),
            (20, .damaged), (24, .damaged), (26, .damaged), (5, .busy), (6, .busy), (13, .full), (8, .readOnly),
            (3, .readOnly),
            (10 | 3 << 8, .full), (10, .other), (14, .other), (7, .other),
        ] as [(Int32, DatabaseError.Cause)])
    func codesHaveOneCauseInAllFiles(code: Int32, cause: DatabaseError.Cause) {
        #expect(DatabaseError.Cause(code) == cause)
    }

    /// A file of an earlier version must be upgraded, which a process that can only read it cannot do.
    @Test func earlierVersionIsNotReportedAsEmpty() throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("rows.db")
        let steps = ["CREATE TABLE a (n INTEGER) STRICT", "CREATE TABLE b (n INTEGER) STRICT"]
        let (earlier, current) = (DatabaseSchema("test", steps: [steps[0]]), DatabaseSchema("test", steps: steps))
        func error() -> DatabaseError? {
            do throws(DatabaseError) {
                _ = try DatabaseFile.openWithoutLocks(path, current)
                return nil
            } catch {
                return error
            }
        }
        try folder.write("rows.db", "")
        #expect(error()?.cause == .foreign && error()?.reason == "is empty")
        _ = try DatabaseFile.open(path, earlier)
        #expect(error()?.cause == .readOnly)
        #expect(error()?.reason.hasPrefix("has version 1, written by an earlier release; make the file") == true)
        _ = try DatabaseFile.open(path, current)
        #expect(error() == nil)
    }
}
