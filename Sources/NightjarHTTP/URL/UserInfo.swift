/// The user name and password of a URL, decoded. ``description`` and the mirror contain neither.
public final class UserInfo: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let user: String
    /// The password. Nil if the user info contains no colon.
    public let password: String?

    init(parsing text: UnsafeRawBufferPointer) {
        let parts = text.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let decoded = parts.map { String(decoding: PercentEncoding.decoded($0), as: UTF8.self) }
        user = decoded.first ?? ""
        password = decoded.dropFirst().first
    }

    public static func == (a: UserInfo, b: UserInfo) -> Bool {
        a.user.isExactly(b.user) && (a.password ?? "").isExactly(b.password ?? "")
            && (a.password == nil) == (b.password == nil)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(user)
        hasher.combine(password)
    }

    public var description: String { "***" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
