import NightjarHTTP
import Synchronization

/// Caches prepared requests, so that a repeated request is not validated and serialized each time.
///
/// A request is stored at its second use and stays until another request with the same slot replaces it. At most 64
/// requests of a few KiB are stored. A lookup compares the whole request. All entries are removed when a token is set,
/// at logout and when the client is closed, because they may contain secrets.
package final class RepeatedRequests: Sendable {
    /// A prepared request.
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
        /// The fingerprint of the last request for this slot.
        var fingerprint: UInt64 = 0
        var call: Call?
    }

    private let places = Mutex([Place](repeating: Place(), count: RepeatedRequests.count))

    func find(_ request: borrowing Request, _ fingerprint: UInt64) -> Call? {
        guard let call = find(fingerprint), call.request.isSame(as: request) else { return nil }
        return call
    }

    /// Returns the prepared call for a request that consists of a method and a target only.
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

    /// Stores a prepared request if the previous request for its slot was the same.
    func made(
        _ prepared: PreparedRequest, _ options: CallOptions, of request: borrowing Request, _ fingerprint: UInt64
    ) {
        let place = RepeatedRequests.place(of: fingerprint)
        let isSecond = isSecond(fingerprint, at: place)
        guard isSecond else { return }
        // The replaced call is released outside the lock.
        var call: Call? = Call(RepeatedRequest(request), prepared, options)
        places.withLock { places in
            if places[place].fingerprint == fingerprint { swap(&places[place].call, &call) }
        }
    }

    private func isSecond(_ fingerprint: UInt64, at place: Int) -> Bool {
        // Released outside the lock.
        var previous: Call?
        defer { withExtendedLifetime(previous) {} }
        return places.withLock { places in
            if places[place].fingerprint == fingerprint { return true }
            places[place].fingerprint = fingerprint
            previous = places[place].call.take()
            return false
        }
    }

    func forget() {
        let previous = places.withLock { places in
            let previous = places
            places = [Place](repeating: Place(), count: RepeatedRequests.count)
            return previous
        }
        withExtendedLifetime(previous) {}
    }

    private static func place(of fingerprint: UInt64) -> Int { Int(fingerprint % UInt64(count)) }

    private static let count = 64
}
