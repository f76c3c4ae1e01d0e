/// A caller's decision about a redirect.
public enum RedirectAction: Sendable {
    case follow
    /// Follow to another target: an absolute URL, or one relative to the redirecting URL. Which credentials are sent
    /// depends on the new target.
    case followTo(String)
    /// The redirect response is the call's response.
    case stop
    /// The call fails with `cancelled`.
    case refuse(String?)
    /// The caller decides later with ``ClientTask/redirect(_:)``.
    case later
}
