import NightjarHTTP

/// Keeps what servers set and sends it back (RFC 6265bis): for each hop of a redirect anew.
///
/// A call with a Cookie field of the caller's is left alone, in both directions. Cookies of the call itself, an endpoint's or
/// an API key, go beside the jar's.
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
        // What was stored with an answer of the cache was kept when it came.
        guard call.usesCookies, !call.isReplaying, head.headers.firstIndex(of: "Set-Cookie") != nil else {
            return .proceed
        }
        for refusal in storage.store(head.headers, from: call.request.url, firstParty: firstParty(of: call)) {
            call.note(.debug, "a cookie of \(call.request.url.origin) was refused: \(refusal)")
        }
        return .proceed
    }

    /// The site that the program called, where a redirect has led elsewhere.
    private func firstParty(of call: Call) -> Origin? {
        call.redirects.isEmpty ? nil : call.task.request.origin
    }
}
