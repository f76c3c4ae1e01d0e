/// The state that a stage keeps for one call.
///
/// Stages live as long as their client. A state is stored and found by its ``CallStateKey``.
class CallState {
    fileprivate var key: ObjectIdentifier?
    fileprivate var next: CallState? {
        didSet { following = next.map(Unmanaged.passUnretained) }
    }
    /// The same as ``next``, without reference counting, which makes a search five times as fast.
    fileprivate private(set) var following: Unmanaged<CallState>?
}

/// Identifies one kind of state in all calls. A stage creates its keys once.
final class CallStateKey<State: CallState>: Sendable {}

/// The states of one call: a linked list, because most calls have at most two.
struct CallStates {
    private var first: CallState?

    /// The state that is stored for `key`, or nil. Setting nil removes it.
    subscript<State>(key: CallStateKey<State>) -> State? {
        get {
            guard let first else { return nil }
            var state = Unmanaged.passUnretained(first)
            while true {
                let (isFound, following) = state._withUnsafeGuaranteedRef {
                    ($0.key == ObjectIdentifier(key), $0.following)
                }
                // Only a `State` is stored for this key.
                if isFound { return unsafeDowncast(state.takeUnretainedValue(), to: State.self) }
                guard let following else { return nil }
                state = following
            }
        }
        set {
            remove(ObjectIdentifier(key))
            guard let newValue else { return }
            newValue.key = ObjectIdentifier(key)
            newValue.next = first
            first = newValue
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
