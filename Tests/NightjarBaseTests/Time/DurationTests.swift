import Testing

@testable import NightjarBase

@Suite struct DurationTests {
    @Test func invalidDurationsAreRejected() {
        for seconds in [-1, .nan, .infinity, -.infinity, 1e300] { #expect(Duration(seconds: seconds) == nil) }
        #expect(Duration(seconds: 0.25) == .milliseconds(250))
        #expect(Duration(seconds: 0) == .zero)
    }

    @Test func nanosecondsAreClamped() {
        #expect(Duration.seconds(Int64.max).nanosecondsClamped == .max)
        #expect(Duration.seconds(Int64.min).nanosecondsClamped == .min)
        #expect(Duration.microseconds(3).nanosecondsClamped == 3000)
    }
}
