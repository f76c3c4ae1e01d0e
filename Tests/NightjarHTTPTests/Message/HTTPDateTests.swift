import NightjarHTTP
import Testing

@Suite struct HTTPDateTests {
    @Test func httpDatesAreReadAndWritten() throws {
        let now = try #require(Timestamp(secondsSince1970: 1_700_000_000 as Int64))
        for text in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
            let moment = Array(text.utf8).withUnsafeBytes { Timestamp(httpDate: $0, now: now) }
            #expect(moment?.seconds == 784_111_777)
            #expect(moment?.httpDate == "Sun, 06 Nov 1994 08:49:37 GMT")
        }
        #expect(Array("yesterday".utf8).withUnsafeBytes { Timestamp(httpDate: $0, now: now) } == nil)
    }
}
