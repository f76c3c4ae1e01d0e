import NightjarCrypto
import Synchronization

/// TLS settings and the trust store that is loaded for them. All clients of the process with equal settings share one
/// object.
///
/// The system's trust store takes about 1 MB. It is read when the first client opens a secure connection, and released
/// with the last client that uses it.
///
/// Thread-safe.
final class SharedTLSContext: Sendable {
    private struct WeakContext: Sendable {
        weak var context: SharedTLSContext?
    }

    private static let shared = Mutex<[WeakContext]>([])

    private let settings: TLSSettings
    private let context = Mutex<TLSContext?>(nil)

    /// Returns the object that other clients with equal settings use, or a new object.
    static func matching(_ settings: TLSSettings) -> SharedTLSContext {
        shared.withLock { contexts in
            contexts.removeAll { $0.context == nil }
            for case let context? in contexts.lazy.map(\.context) where context.settings == settings {
                return context
            }
            let context = SharedTLSContext(settings)
            contexts.append(WeakContext(context: context))
            return context
        }
    }

    private init(_ settings: TLSSettings) { self.settings = settings }

    /// Returns the context for connections. The first call reads the trust store and may block for some milliseconds.
    ///
    /// - Throws: the errors of ``TLSContext/init(_:)``.
    func loaded() throws(TLSFailure) -> TLSContext {
        try context.withLock { context throws(TLSFailure) in
            if let context { return context }
            let loaded = try TLSContext(settings)
            context = loaded
            return loaded
        }
    }
}
