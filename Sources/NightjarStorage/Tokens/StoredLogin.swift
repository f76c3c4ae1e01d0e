import NightjarHTTP

/// What a store keeps of one login. Shows its secrets to nobody.
public struct StoredLogin: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    public var token: Token
    /// One more with each save, so that who holds an older one sees that another has rotated it.
    public var generation: UInt64
    /// An exchange of `token.refresh` that was begun and is not known to have ended.
    public var pending: PendingExchange?

    public init(token: Token, generation: UInt64, pending: PendingExchange? = nil) {
        self.token = token
        self.generation = generation
        self.pending = pending
    }

    public var description: String {
        "login \(generation), \(token)" + (pending.map { ", \($0)" } ?? "")
    }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A refresh token on its way to the server. Who finds one of somebody who is gone cannot know whether it arrived.
public struct PendingExchange: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The idempotency key, with which the same exchange can be asked for again.
    public var key: String
    public var began: Timestamp

    public init(key: String, began: Timestamp) {
        self.key = key
        self.began = began
    }

    public var description: String { "exchange *** since \(began)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
