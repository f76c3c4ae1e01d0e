import NightjarHTTP

/// Decides which header fields, query items and body members contain secrets.
public struct CassetteSecrets: Sendable {
    /// Additional names of headers, query items, form items and JSON members. Case and separators are ignored.
    public var additionalNames: [String]
    /// Additional secrets to replace in URLs, header values, bodies that are not binary, and error messages.
    public var values: [String]

    public init(additionalNames: [String] = [], values: [String] = []) {
        self.additionalNames = additionalNames
        self.values = values
    }

    /// Returns true if a query item is secret. The secret names are the same as in logs.
    func isSecret(queryItem name: Substring.UTF8View) -> Bool {
        SecretNames.isSecret(item: name, sensitive: additionalNames)
    }

    func isSecret(field name: String, _ value: String) -> Bool {
        if SecretNames.isNamed(name.utf8, in: additionalNames) { return true }
        // A challenge is kept, because a client needs it for authentication during replay.
        if challenges.contains(where: { ASCII.equalIgnoringCase($0.utf8, name.utf8) }) { return false }
        var (name, value) = (name, value)
        return name.withUTF8 { name in
            value.withUTF8 { SecretNames.isSecret(field: UnsafeRawBufferPointer(name), UnsafeRawBufferPointer($0)) }
        }
    }

    private var challenges: [String] { ["WWW-Authenticate", "Proxy-Authenticate"] }

    /// Returns true if a body member is secret. Some names are also common for data ("code", "key", "ticket"). These
    /// are secret only in the bodies of logins, so that the code of an error stays visible.
    func isSecret(member name: some Collection<UInt8>, inLogin: Bool) -> Bool {
        if CassetteSecrets.isCode(name) || SecretNames.isNamed(name, in: additionalNames) { return true }
        switch SecretNames.strength(name, in: .item) {
        case .none: return false
        case .weak: return inLogin
        case .strong: return true
        }
    }

    /// Returns true if a member with this name shows that the exchange is a login.
    static func isLogin(_ name: Substring.UTF8View) -> Bool { login.contains(letters(PercentEncoding.decoded(name))) }

    private static let login: Set<String> = [
        "accesstoken", "refreshtoken", "idtoken", "clientsecret", "clientassertion", "devicecode", "password", "passwd",
        "granttype", "codeverifier", "authtoken",
    ]

    /// Returns true for the names of the codes of a device login (RFC 8628).
    private static func isCode(_ name: some Collection<UInt8>) -> Bool {
        ["devicecode", "usercode"].contains(letters(name))
    }

    /// Returns true for a member inside a secret member that describes the secret but is not secret itself.
    static func describesSecret(_ name: some Collection<UInt8>) -> Bool { descriptiveNames.contains(letters(name)) }

    private static let descriptiveNames: Set<String> = [
        "type", "tokentype", "scope", "scopes", "name", "expires", "expiry", "expiresat",
    ]

    private static func letters(_ name: some Collection<UInt8>) -> String {
        String(decoding: SecretNames.letters(name), as: UTF8.self)
    }
}
