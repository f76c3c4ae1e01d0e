import NIOCore
import Testing

@testable import NightjarTransport

/// The memory of the groups of the key exchange that servers have chosen.
@Suite struct ChosenGroupsTests {
    private let start = NIODeadline.uptimeNanoseconds(1)
    private var groups = ChosenGroups()

    @Test mutating func groupIsRememberedForEachPeer() {
        groups.insert(29, for: "a", at: start)
        groups.insert(4588, for: "b", at: start)
        #expect(groups.group(for: "a", at: start) == 29)
        #expect(groups.group(for: "b", at: start) == 4588)
        #expect(groups.group(for: "c", at: start) == nil)
        groups.remove(for: "a")
        #expect(groups.group(for: "a", at: start) == nil)
    }

    @Test mutating func sameChoiceDoesNotExtendTheLifetime() {
        groups.insert(29, for: "a", at: start)
        groups.insert(29, for: "a", at: start + .minutes(59))
        #expect(groups.group(for: "a", at: start + .minutes(59)) == 29)
        #expect(groups.group(for: "a", at: start + .hours(1)) == nil)
        groups.insert(29, for: "a", at: start + .hours(1))
        #expect(groups.group(for: "a", at: start + .minutes(119)) == 29)
    }

    @Test mutating func anotherChoiceReplacesTheFirst() {
        groups.insert(29, for: "a", at: start)
        groups.insert(24, for: "a", at: start + .minutes(59))
        #expect(groups.group(for: "a", at: start + .minutes(61)) == 24)
        groups.insert(0, for: "a", at: start + .minutes(61))
        #expect(groups.group(for: "a", at: start + .minutes(61)) == nil)
    }

    @Test mutating func numberOfPeersIsBounded() {
        for number in 0..<1000 { groups.insert(29, for: "\(number)", at: start) }
        #expect((0..<1000).count { groups.group(for: "\($0)", at: start) != nil } <= 256)
        #expect(groups.group(for: "999", at: start) == 29)
    }
}
