/// Which fields, query items and members of bodies hold secrets.
public struct CassetteSecrets: Sendable {
    /// Further names: of headers, of items of a query or form, of members of JSON. Case and separators do not matter.
    public var further: [String]
    /// Secrets themselves, to be taken out wherever they stand.
    public var values: [String]

    public init(further: [String] = [], values: [String] = []) {
        self.further = further
        self.values = values
    }

    /// In a URL all that a log would not show either.
    func isSecret(queryItem name: Substring.UTF8View) -> Bool { Redaction.isSecret(name: name, sensitive: further) }

    func isSecret(field name: String) -> Bool {
        if further.contains(where: { ASCII.equalIgnoringCase($0.utf8, name.utf8) }) { return true }
        // A challenge tells how to log in, and who replays it has to know.
        if challenges.contains(where: { ASCII.equalIgnoringCase($0.utf8, name.utf8) }) { return false }
        var name = name
        return name.withUTF8 { Masking.isSecret(field: UnsafeRawBufferPointer($0)) }
    }

    private var challenges: [String] { ["WWW-Authenticate", "Proxy-Authenticate"] }

    /// In bodies the names that data have too ("code", "key", "ticket") count where a login goes on alone: an error's code
    /// is to be seen.
    func isSecret(member name: Substring.UTF8View, inLogin: Bool) -> Bool {
        guard Redaction.isSecret(name: name, sensitive: further) || CassetteSecrets.isCode(name) else { return false }
        return inLogin || !CassetteSecrets.weak.contains(CassetteSecrets.letters(name))
            || further.contains { CassetteSecrets.letters($0[...].utf8) == CassetteSecrets.letters(name) }
    }

    /// Whether a member of this name tells that a login goes on.
    static func isLogin(_ name: Substring.UTF8View) -> Bool { login.contains(letters(name)) }

    private static let login: Set<String> = [
        "accesstoken", "refreshtoken", "idtoken", "clientsecret", "clientassertion", "devicecode", "password", "passwd",
        "granttype", "codeverifier", "authtoken",
    ]

    /// Redeemed for tokens, and no name that a log would have to hide.
    private static func isCode(_ name: Substring.UTF8View) -> Bool {
        ["devicecode", "usercode"].contains(letters(name))
    }

    private static let weak: Set<String> = [
        "auth", "authorization", "code", "credentials", "key", "pass", "pin", "session", "sessionid",
        "sid",
        "sig", "signature", "ticket",
    ]

    /// Beneath a name that is secret: what says something of the secret, and is none.
    static func isAboutSecret(_ name: String) -> Bool { about.contains(letters(name[...].utf8)) }

    private static let about: Set<String> = [
        "type", "tokentype", "scope", "scopes", "name", "expires", "expiry", "expiresat",
    ]

    private static func letters(_ name: Substring.UTF8View) -> String {
        String(
            decoding: PercentEncoding.decoded(name).map(ASCII.lowercase).filter { !"-_.[] ".utf8.contains($0) },
            as: UTF8.self)
    }
}
