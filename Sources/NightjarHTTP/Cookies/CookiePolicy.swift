/// The cookies that a jar stores and sends.
public enum CookiePolicy: String, Sendable, CaseIterable {
    /// Cookies of all sites are stored and sent.
    case all
    /// Only cookies of the site of the call's first URL are stored and sent. Redirects to other sites use no cookies.
    case firstParty
    case none
}
