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
}
