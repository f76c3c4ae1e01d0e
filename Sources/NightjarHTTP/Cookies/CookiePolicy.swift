/// The cookies that a jar stores and sends.
public enum CookiePolicy: String, Sendable, CaseIterable {
    /// Cookies of all sites are stored and sent.
    case all
    /// Only cookies of the site that the program called, not of sites it was redirected to.
    case firstParty
    case none
}
