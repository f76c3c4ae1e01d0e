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
    func isSecret(queryItem name: Substring.UTF8View) -> Bool { SecretNames.isSecret(item: name, sensitive: further) }

    func isSecret(field name: String, _ value: String) -> Bool {
        if SecretNames.isNamed(name.utf8, in: further) { return true }
        // A challenge says how to log in, and a client that replays it has to know.
        if challenges.contains(where: { ASCII.equalIgnoringCase($0.utf8, name.utf8) }) { return false }
        var (name, value) = (name, value)
        return name.withUTF8 { name in
            value.withUTF8 { SecretNames.isSecret(field: UnsafeRawBufferPointer(name), UnsafeRawBufferPointer($0)) }
        }
    }

    private var challenges: [String] { ["WWW-Authenticate", "Proxy-Authenticate"] }

    /// In bodies the names that data have too ("code", "key", "ticket") count in logins alone: an error's code is to be seen.
    func isSecret(member name: some Collection<UInt8>, inLogin: Bool) -> Bool {
        if CassetteSecrets.isCode(name) || SecretNames.isNamed(name, in: further) { return true }
        switch SecretNames.strength(name, in: .item) {
        case .none: return false
        case .weak: return inLogin
        case .strong: return true
        }
    }

    /// Whether a member of this name shows that the exchange is one of a login.
    static func isLogin(_ name: Substring.UTF8View) -> Bool { login.contains(letters(PercentEncoding.decoded(name))) }

    private static let login: Set<String> = [
        "accesstoken", "refreshtoken", "idtoken", "clientsecret", "clientassertion", "devicecode", "password", "passwd",
        "granttype", "codeverifier", "authtoken",
    ]

    /// Redeemed for tokens, and no name that a log would have to hide.
    private static func isCode(_ name: some Collection<UInt8>) -> Bool {
        ["devicecode", "usercode"].contains(letters(name))
    }

    /// Beneath a name that is secret: what says something of the secret, and is none.
    static func isAboutSecret(_ name: some Collection<UInt8>) -> Bool { about.contains(letters(name)) }

    private static let about: Set<String> = [
        "type", "tokentype", "scope", "scopes", "name", "expires", "expiry", "expiresat",
    ]

    private static func letters(_ name: some Collection<UInt8>) -> String {
        String(decoding: SecretNames.letters(name), as: UTF8.self)
    }
}
