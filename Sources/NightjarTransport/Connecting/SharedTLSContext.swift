import NIOSSL
import Synchronization

/// TLS settings and the trust store that is loaded for them. All clients of the process with equal settings share one
/// object.
///
/// The system's trust store takes about 1 MB. It is read when the first client opens a secure connection, and released
/// with the last client that uses it. Clients do not share TLS sessions, because NIOSSL does not resume sessions.
///
/// Thread-safe.
final class SharedTLSContext: Sendable {
    private struct WeakContext: Sendable {
        weak var context: SharedTLSContext?
    }

    private static let shared = Mutex<[WeakContext]>([])

    private let configuration: TLSConfiguration
    private let context = Mutex<NIOSSLContext?>(nil)

    /// Returns the object that other clients with equal settings use, or a new object.
    static func matching(_ configuration: TLSConfiguration) -> SharedTLSContext {
        shared.withLock { contexts in
            contexts.removeAll { $0.context == nil }
            for case let context? in contexts.lazy.map(\.context)
            where context.configuration.bestEffortEquals(configuration) {
                return context
            }
            let context = SharedTLSContext(configuration)
            contexts.append(WeakContext(context: context))
            return context
        }
    }

    private init(_ configuration: TLSConfiguration) { self.configuration = configuration }

    var verifiesCertificates: Bool { configuration.certificateVerification != .none }

    /// Returns the context for connections. The first call reads the trust store and may block for some milliseconds.
    /// Throws if BoringSSL cannot read the trust store.
    func loaded() throws -> NIOSSLContext {
        try context.withLock { context in
            if let context { return context }
            let loaded = try NIOSSLContext(configuration: configuration)
            context = loaded
            return loaded
        }
    }
}
