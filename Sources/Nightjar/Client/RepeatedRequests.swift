import NightjarHTTP
import Synchronization

/// Remembers what was made of requests that come again and again, so that each is checked and written once.
///
/// One is kept when it comes a second time, until another takes its place: at most 64, of a few KiB. Compared is all that a
/// request says, so what is kept is never out of date; it is forgotten when somebody signs in or out, for there may be
/// secrets in it.
package final class RepeatedRequests: Sendable {
    /// What was made of a request.
    package final class Call: Sendable {
        fileprivate let request: RepeatedRequest
        let prepared: PreparedRequest
        let options: CallOptions

        fileprivate init(_ request: RepeatedRequest, _ prepared: PreparedRequest, _ options: CallOptions) {
            self.request = request
            self.prepared = prepared
            self.options = options
        }
    }

    private struct Place {
        /// Of the one that was here last.
        var fingerprint: UInt64 = 0
        var call: Call?
    }

    private let places = Mutex([Place](repeating: Place(), count: RepeatedRequests.count))

    func find(_ request: borrowing Request, _ fingerprint: UInt64) -> Call? {
        guard let call = find(fingerprint), call.request.isSame(as: request) else { return nil }
        return call
    }

    /// What was made of a request that says its method and target, and no more.
    func find(_ method: UnsafeRawBufferPointer, _ target: UnsafeRawBufferPointer) -> Call? {
        guard let fingerprint = Request.fingerprint(target: target), let call = find(fingerprint),
            call.request.isBare(method, target)
        else { return nil }
        return call
    }

    private func find(_ fingerprint: UInt64) -> Call? {
        let place = RepeatedRequests.place(of: fingerprint)
        return places.withLock { $0[place].fingerprint == fingerprint ? $0[place].call : nil }
    }

    /// Keeps what was made of a request, if it has been seen here before.
    func made(
        _ prepared: PreparedRequest, _ options: CallOptions, of request: borrowing Request, _ fingerprint: UInt64
    ) {
        let place = RepeatedRequests.place(of: fingerprint)
        let isSecond = isSecond(fingerprint, at: place)
        guard isSecond else { return }
        // What it replaces ends behind the lock.
        var call: Call? = Call(RepeatedRequest(request), prepared, options)
        places.withLock { places in
            if places[place].fingerprint == fingerprint { swap(&places[place].call, &call) }
        }
    }

    private func isSecond(_ fingerprint: UInt64, at place: Int) -> Bool {
        // Ends behind the lock.
        var former: Call?
        defer { withExtendedLifetime(former) {} }
        return places.withLock { places in
            if places[place].fingerprint == fingerprint { return true }
            places[place].fingerprint = fingerprint
            former = places[place].call.take()
            return false
        }
    }

    func forget() {
        let former = places.withLock { places in
            let former = places
            places = [Place](repeating: Place(), count: RepeatedRequests.count)
            return former
        }
        withExtendedLifetime(former) {}
    }

    private static func place(of fingerprint: UInt64) -> Int { Int(fingerprint % UInt64(count)) }

    private static let count = 64
}
