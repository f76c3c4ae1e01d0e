import Synchronization

/// The origin of the last absolute target: the next one is mostly of the same, and then needs no reading. Any thread.
final class LatestOrigin: Sendable {
    private let latest = Mutex<Origin?>(nil)

    func origin(writtenAs authority: UnsafeRawBufferPointer, isTLS: Bool) -> Origin? {
        guard let origin = latest.withLock({ $0 }), origin.isWritten(authority, isTLS: isTLS) else { return nil }
        return origin
    }

    func note(_ origin: Origin) { latest.withLock { $0 = origin } }
}
