/// The cookies that identify a login. Responses to requests with different login cookies are stored separately.
///
/// Except with ``all``, a cookie that a reusable response replaces identifies the same login as before. See
/// `CookieChange`.
public enum LoginCookies: Sendable, Equatable {
    /// All cookies except the known cookies of load balancers, bot filters and analytics.
    case automatic
    /// All cookies.
    case all
    /// The cookies with these names. If empty, no cookie identifies a login.
    case named([String])

    /// Creates the value for the option of C and Lua. `*` means all cookies.
    public init(names: [String]) { self = names.contains("*") ? .all : .named(names) }

    /// Appends the login cookies of a Cookie field, sorted, to the input of a partition hash.
    ///
    /// - Parameter own: the cookies of the request itself, as `name=value`. All of them are credentials.
    func append(_ field: UnsafeRawBufferPointer, own: [String], to found: inout [UInt8]) {
        var cookies = LoginCookies.pairs(of: field).filter { pair in
            identifiesLogin(LoginCookies.name(of: pair)) || own.contains { $0.utf8.elementsEqual(pair) }
        }
        guard !cookies.isEmpty else { return }
        cookies.sort { $0.lexicographicallyPrecedes($1) }
        found += "cookie\0".utf8
        for cookie in cookies {
            found += cookie
            found.append(UInt8(ascii: ";"))
        }
        found.append(0)
    }

    func identifiesLogin(_ name: ArraySlice<UInt8>) -> Bool {
        switch self {
        case .all: true
        case .named(let names): names.contains { $0.utf8.elementsEqual(name) }
        case .automatic:
            !LoginCookies.unrelatedCookies.contains { $0.utf8.elementsEqual(name) }
                && !LoginCookies.unrelatedPrefixes.contains { name.starts(with: $0.utf8) }
        }
    }

    /// Returns the cookies of a Cookie field, each as `name=value`.
    static func pairs(of field: UnsafeRawBufferPointer) -> [[UInt8]] {
        field.split(separator: UInt8(ascii: ";")).compactMap { part in
            let pair = EntityTag.trimmed(UnsafeRawBufferPointer(rebasing: part))
            return pair.isEmpty ? nil : Array(pair)
        }
    }

    static func name(of pair: [UInt8]) -> ArraySlice<UInt8> {
        pair[..<(pair.firstIndex(of: UInt8(ascii: "=")) ?? 0)]
    }

    /// Cookies documented by AWS, Azure, Google Cloud, Cloudflare, Akamai, DataDome and Google Analytics. Some of them
    /// change with every response.
    private static let unrelatedCookies = [
        "AWSALB", "AWSALBCORS", "AWSALBTG", "AWSALBTGCORS", "AWSELB", "AWSELBCORS", "ARRAffinity",
        "ARRAffinitySameSite", "GCLB", "__cf_bm", "_cfuvid", "__cflb", "cf_clearance", "ak_bmsc", "bm_sv", "bm_sz",
        "_abck", "datadome", "_ga", "_gid", "_gat",
    ]
    /// Prefixes of cookies of F5 BIG-IP, Imperva and Google Analytics.
    private static let unrelatedPrefixes = ["BIGipServer", "incap_ses_", "visid_incap_", "nlbi_", "_ga_"]
}

/// The change that a response makes to the cookies of its request.
///
/// A server that switches the login with cookies does not make the response reusable, because a response from the cache
/// sets no cookies. Cookies that a reusable response replaces therefore belong to the login of the request. Cookies
/// that a reusable response adds do not belong to a login yet.
public enum CookieChange: Sendable, Equatable {
    /// The response sets no cookie, or deletes one.
    case none
    /// The response replaces cookies of the request and adds none. The value is the resulting Cookie field.
    case replaced(String)
    /// The response adds cookies. The value is the resulting Cookie field.
    case added(String)

    /// - Parameters:
    ///   - field: the Cookie field of the request. Nil if there is none.
    ///   - headers: the fields of the response.
    public init(of field: String?, by headers: Headers, at now: Timestamp) {
        var pairs = field.map { field in Array(field.utf8).withUnsafeBytes(LoginCookies.pairs) } ?? []
        var (sets, adds, deletes) = (false, false, false)
        headers.forEach("set-cookie") { value in
            guard let cookie = try? SetCookie(parsing: value) else { return }
            sets = true
            if (cookie.maxAge ?? 1) <= 0 || (cookie.maxAge == nil && (cookie.expires ?? .max) <= now.seconds) {
                deletes = true
            }
            let pair = Array((cookie.name.isEmpty ? cookie.value : cookie.name + "=" + cookie.value).utf8)
            let places = pairs.indices.filter { LoginCookies.name(of: pairs[$0]).elementsEqual(cookie.name.utf8) }
            if places.isEmpty {
                adds = true
                pairs.append(pair)
            }
            for place in places { pairs[place] = pair }
        }
        let text = pairs.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "; ")
        switch (sets && !deletes, adds) {
        case (false, _): self = .none
        case (true, true): self = .added(text)
        case (true, false): self = .replaced(text)
        }
    }
}
