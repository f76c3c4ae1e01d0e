/// The state that a stage keeps for one call.
///
/// A stage serves many calls, so it stores the state of each call in the call, under a ``CallStateKey``.
class CallState {
    fileprivate var key: ObjectIdentifier?
    fileprivate var next: CallState? {
        didSet { following = next.map(Unmanaged.passUnretained) }
    }
    /// A copy of ``next`` without reference counting, which makes a search five times as fast.
    fileprivate private(set) var following: Unmanaged<CallState>?
}

/// Identifies one kind of state in all calls. A stage creates its keys once.
final class CallStateKey<State: CallState>: Sendable {}

/// The states of one call: a linked list, because most calls have at most two states.
struct CallStates {
    private var first: CallState?

    /// The state that is stored for `key`, or nil. Setting nil removes it.
    subscript<State>(key: CallStateKey<State>) -> State? {
        get {
            // Only a `State` is stored for this key.
            find(ObjectIdentifier(key)).map { unsafeDowncast($0.takeUnretainedValue(), to: State.self) }
        }
        set {
            let id = ObjectIdentifier(key)
            // Usually nothing is stored for the key. `find` detects this without reference counting.
            if find(id) != nil { remove(id) }
            guard let newValue else { return }
            newValue.key = id
            newValue.next = first
            first = newValue
        }
    }

    @inline(__always)
    private func find(_ key: ObjectIdentifier) -> Unmanaged<CallState>? {
        guard let first else { return nil }
        var state = Unmanaged.passUnretained(first)
        while true {
            let (isFound, following) = state._withUnsafeGuaranteedRef { ($0.key == key, $0.following) }
            if isFound { return state }
            guard let following else { return nil }
            state = following
        }
    }

    private mutating func remove(_ key: ObjectIdentifier) {
        var previous: CallState?
        var state = first
        while let found = state, found.key != key { (previous, state) = (found, found.next) }
        guard let found = state else { return }
        if let previous { previous.next = found.next } else { first = found.next }
        (found.key, found.next) = (nil, nil)
    }
}
