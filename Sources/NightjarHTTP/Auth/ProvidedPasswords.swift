/// The user names and passwords that the caller has provided in response to challenges, by origin, scheme and realm. In
/// memory only, bounded.
///
///     added ──accepted by the server──▶ also sent without a challenge
///       └────────────────────────────────┴──rejected, removed──▶ forgotten
///
/// A password is sent only to the origin that has challenged the request. Without a challenge, it is sent with Basic to
/// the directory of an accepted request and below (RFC 7617 section 2.2), and with Digest to the protection space (RFC
/// 7616 section 3.3).
public struct ProvidedPasswords: Sendable, CustomStringConvertible, CustomReflectable {
    /// Identifies a password. Never reused.
    public struct ID: Sendable, Hashable {
        fileprivate let number: Int
    }

    private enum Credentials {
        case basic(String)
        case digest(DigestAuthentication)
    }

    private struct Login {
        let id: ID
        let origin: Origin
        let offer: PasswordOffer
        var credentials: Credentials
        var isAccepted = false
        /// The directories of accepted requests, for Basic.
        var directories: [String] = []
    }

    private let hashes: [DigestAuthentication.Algorithm: DigestAuthentication.Hash]
    /// The most recently added one last.
    private var logins: [Login] = []
    private var lastNumber = 0

    /// - Parameter hashes: The hash functions of all algorithms.
    public init(hashes: [DigestAuthentication.Algorithm: DigestAuthentication.Hash]) { self.hashes = hashes }

    public var description: String { "passwords ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Adds a password, which replaces an earlier one for the same offer.
    public mutating func add(user: String, password: String, for offer: PasswordOffer, from origin: Origin) -> ID {
        lastNumber += 1
        let id = ID(number: lastNumber)
        logins.removeAll { $0.origin == origin && $0.offer == offer }
        if logins.count >= ProvidedPasswords.maximumLogins { logins.removeFirst() }
        let credentials: Credentials =
            switch offer.scheme {
            case .basic: .basic(BasicCredentials.field(user: user, password: password))
            case .digest: .digest(DigestAuthentication(user: user, password: password, hashes: hashes))
            }
        logins.append(Login(id: id, origin: origin, offer: offer, credentials: credentials))
        return id
    }

    public mutating func remove(_ id: ID) { logins.removeAll { $0.id == id } }

    public mutating func removeAll() { logins = [] }

    /// Returns the password for an offer.
    func find(_ offer: PasswordOffer, from origin: Origin) -> ID? {
        logins.first { $0.origin == origin && $0.offer == offer }?.id
    }

    /// Returns the accepted password to send to a URL without a challenge. The most specific directory takes precedence.
    func preemptive(_ url: RequestURL) -> ID? {
        guard !logins.isEmpty else { return nil }
        let origin = url.origin
        let path = url.path
        var best: (id: ID, length: Int)?
        for login in logins where login.isAccepted && login.origin == origin {
            let length: Int
            switch login.credentials {
            case .basic:
                guard let longest = login.directories.filter({ path.hasPrefix($0) }).map(\.utf8.count).max() else {
                    continue
                }
                length = longest
            case .digest: length = 0
            }
            if length >= best?.length ?? 0 { best = (login.id, length) }
        }
        return best?.id
    }

    /// Handles a challenge to which the password shall respond.
    ///
    /// - Returns: Whether the request can be repeated. False if the server has rejected the password.
    mutating func challenged(
        _ id: ID, _ challenges: [Challenge], for url: RequestURL, body: RequestBody,
        _ repetitions: inout DigestAuthentication.Repetitions
    ) -> Bool {
        guard let index = logins.firstIndex(where: { $0.id == id }),
            case .digest(var machine) = logins[index].credentials
        else { return false }
        let verdict = machine.challenged(challenges, for: url, body: body, &repetitions)
        logins[index].credentials = .digest(machine)
        return verdict == .respond
    }

    func offer(of id: ID) -> PasswordOffer? { logins.first { $0.id == id }?.offer }

    /// Returns the value of the Authorization field, or nil if the password must not be sent to this URL.
    ///
    /// - Parameter isChallenged: Whether the request responds to a challenge.
    mutating func authorization(
        _ id: ID, _ method: Method, _ url: RequestURL, body: RequestBody, isChallenged: Bool, random: [UInt8]
    ) -> String? {
        guard let index = logins.firstIndex(where: { $0.id == id }), logins[index].origin == url.origin else {
            return nil
        }
        switch logins[index].credentials {
        case .basic(let field): return field
        case .digest(var machine):
            let field =
                isChallenged
                ? machine.authorization(method, url, body: body, random: random)
                : machine.preemptive(method, url, body: body, random: random)
            logins[index].credentials = .digest(machine)
            return field
        }
    }

    /// Handles a response other than 401 to a request with the password.
    ///
    /// - Parameters:
    ///   - info: The value of Authentication-Info.
    ///   - field: The Authorization value of the request.
    /// - Returns: False if the server has not proven that it has the password; see
    ///   ``DigestAuthentication/accepted(_:to:from:)``.
    mutating func accepted(_ id: ID, _ url: RequestURL, info: String?, to field: String) -> Bool {
        guard let index = logins.firstIndex(where: { $0.id == id }) else { return true }
        if case .digest(var machine) = logins[index].credentials {
            let isProven = machine.accepted(info, to: field, from: url.origin)
            logins[index].credentials = .digest(machine)
            guard isProven else { return false }
        }
        logins[index].isAccepted = true
        let path = url.path
        let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "/"
        guard !logins[index].directories.contains(where: { directory.hasPrefix($0) }),
            logins[index].directories.count < ProvidedPasswords.maximumDirectories
        else { return true }
        logins[index].directories.append(directory)
        return true
    }

    private static let maximumLogins = 64
    private static let maximumDirectories = 64
}
