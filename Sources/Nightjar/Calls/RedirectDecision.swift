/// What a caller wants done with a redirect.
public enum RedirectAnswer: Sendable {
    case follow
    /// Elsewhere: an absolute URL, or one relative to the URL that redirects. What credentials go along is decided by it.
    case followTo(String)
    /// The answer that redirects is the call's answer.
    case stop
    /// The call fails as `cancelled`.
    case refuse(String?)
    /// It is not known yet: ``ClientTask/redirect(_:)`` will say it.
    case later
}
