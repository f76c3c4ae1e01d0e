import Testing

@testable import Nightjar

@Suite struct CallStateTests {
    private final class Number: CallState {
        let value: Int
        init(_ value: Int) { self.value = value }
    }

    @Test func eachKeyHasItsOwnState() {
        let keys = (0..<4).map { _ in CallStateKey<Number>() }
        var states = CallStates()
        #expect(states[keys[0]] == nil)
        for (number, key) in keys.enumerated() { states[key] = Number(number) }
        #expect(keys.map { states[$0]?.value } == [0, 1, 2, 3])
    }

    @Test func stateIsReplacedAndRemoved() {
        let keys = (0..<3).map { _ in CallStateKey<Number>() }
        var states = CallStates()
        for (number, key) in keys.enumerated() { states[key] = Number(number) }
        states[keys[1]] = Number(10)
        #expect(keys.map { states[$0]?.value } == [0, 10, 2])
        let removed = states[keys[1]].take()
        #expect(removed?.value == 10)
        #expect(keys.map { states[$0]?.value } == [0, nil, 2])
        states[keys[0]] = nil
        states[keys[0]] = nil
        #expect(keys.map { states[$0]?.value } == [nil, nil, 2])
        // A removed state can be stored again.
        states[keys[0]] = removed
        #expect(keys.map { states[$0]?.value } == [10, nil, 2])
    }
}
