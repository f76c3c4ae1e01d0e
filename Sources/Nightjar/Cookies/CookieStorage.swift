import Glibc
import NightjarHTTP
import Synchronization

/// The cookies of a client, or of several that share them. Any thread.
///
/// Behind a lock, and not on the loop as the rest of a client's state: programs list and change cookies and want the
/// answer at once, several clients may share a jar, and an uncontended lock costs a request less than its Cookie field.
public final class CookieStorage: Sendable {
    private let jar: Mutex<CookieJar>

    public init(_ policy: CookieJar.Policy = .all) {
        jar = Mutex(CookieJar(policy: policy, isPublicSuffix: PublicSuffix.contains))
    }

    /// What a request to `url` carries; nil for none.
    func field(for url: RequestURL, isSafeMethod: Bool, firstParty: Origin?) -> String? {
        jar.withLock {
            $0.retrieve(for: url, at: CookieStorage.now, isSafeMethod: isSafeMethod, firstParty: firstParty)
        }
    }

    /// Takes the Set-Cookie fields of an answer.
    ///
    /// - Returns: why those were refused that were.
    func store(_ headers: Headers, from url: RequestURL, firstParty: Origin?) -> [CookieRefusal] {
        jar.withLock { $0.store(from: headers, of: url, at: CookieStorage.now, firstParty: firstParty) }
    }

    // MARK: By hand

    /// All that have not expired, by domain, path and name.
    public var all: [Cookie] { jar.withLock { $0.list(at: CookieStorage.now) } }

    /// Stores one that no server sent, in the place of the one of the same name, domain and path.
    ///
    /// - Throws: `invalid_argument` with the reason.
    public func add(_ cookie: Cookie) throws(NightjarError) {
        try jar.withLock { jar throws(NightjarError) in
            do throws(CookieRefusal) {
                if case .refused(let refusal) = try jar.add(cookie, at: CookieStorage.now) { throw refusal }
            } catch {
                throw NightjarError(.invalidArgument, "the cookie \(quoted(cookie.name)) cannot be kept: \(error)")
            }
        }
    }

    /// Stores what a Set-Cookie field says, as if `url` had sent it.
    ///
    /// - Throws: `invalid_argument` with the reason.
    public func set(_ setCookie: String, for url: RequestURL) throws(NightjarError) {
        let outcome = jar.withLock { $0.store(setCookie: setCookie, from: url, at: CookieStorage.now) }
        if case .refused(let refusal) = outcome {
            throw NightjarError(.invalidArgument, "the cookie cannot be kept: \(refusal)")
        }
    }

    /// Deletes those that match all that is given.
    ///
    /// - Parameter domain: matches itself alone.
    /// - Returns: how many there were.
    @discardableResult
    public func delete(name: String? = nil, domain: String? = nil, path: String? = nil) -> Int {
        jar.withLock { $0.delete(name: name, domain: domain, path: path, at: CookieStorage.now) }
    }

    public func clear() { jar.withLock { $0.clear(at: CookieStorage.now) } }

    // MARK: cookies.txt

    /// As curl's `--cookie-jar` writes them.
    public func exportText() -> String { CookiesText.format(all).text }

    /// Adds what a file of that form holds; a line that is wrong is skipped and reported.
    @discardableResult
    public func importText(_ text: String) -> CookiesText.Report { importText(bytes: Array(text.utf8)) }

    func importText(bytes: [UInt8]) -> CookiesText.Report {
        jar.withLock { jar in bytes.withUnsafeBytes { CookiesText.read($0, into: &jar, at: CookieStorage.now) } }
    }

    /// Seconds since 1970: cookies expire by the calendar.
    private static var now: Double {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) * 1e-9
    }
}
