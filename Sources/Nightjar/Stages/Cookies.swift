import NightjarHTTP

/// Stores and sends cookies (RFC 6265bis), separately for each redirect.
///
/// If the caller sets the Cookie field, the call is not changed and stores no cookies. Cookies that an endpoint or an
/// API key adds to the request are sent in addition to those of the jar.
final class Cookies: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.outgoing, .incoming] }
    private let storage: CookieStorage

    init(_ storage: CookieStorage) {
        self.storage = storage
    }

    override func outgoing(_ call: Call) -> Verdict {
        guard call.usesCookies else { return .proceed }
        let field = storage.field(
            for: call.request.url, isSafeMethod: call.request.method.isSafe, firstParty: firstParty(of: call))
        guard field != nil || call.attempts > 0 else { return .proceed }
        do throws(NightjarError) {
            let own = call.request.ownCookies
            call.request = try call.request.setting("Cookie", CookieField.text(kept: field, own: own))
            return .proceed
        } catch {
            return .fail(error)
        }
    }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        // Cookies of a cached response were stored when the response was received.
        guard call.usesCookies, !call.isReplaying, head.headers.firstIndex(of: "Set-Cookie") != nil else {
            return .proceed
        }
        let refusals = storage.store(
            head.headers, from: call.request.url, firstParty: firstParty(of: call), owner: call.cookieOwner)
        for refusal in refusals {
            call.note(.debug, "a cookie of \(call.request.url.origin) was rejected: \(refusal)")
        }
        return .proceed
    }

    /// Returns the origin of the call's first request if the call was redirected; otherwise nil.
    private func firstParty(of call: Call) -> Origin? {
        call.redirects.isEmpty ? nil : call.task.request.origin
    }
}
