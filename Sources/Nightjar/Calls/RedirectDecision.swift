import NightjarHTTP

extension TaskHandlers {
    /// The request that follows a redirect.
    public typealias ProposedRedirect = NightjarHTTP.ProposedRedirect

    /// A caller's decision about a redirect.
    public enum RedirectAction: Sendable {
        case follow
        /// Follow the redirect to another target: an absolute URL, or a URL relative to the redirecting URL. The origin
        /// of the new target determines which credentials are sent.
        case followTo(String)
        /// Do not follow the redirect. The redirect is then the call's response, and an error unless its status is
        /// expected.
        case stop
        /// Fail the call with `cancelled`. The text is appended to the error message.
        case refuse(String?)
        /// The caller decides later with ``ClientTask/redirect(_:)``.
        case later
    }
}
