import NIOSSL
import Synchronization

/// TLS settings with the trust store that is made from them, shared by all clients of the process whose settings are equal.
///
/// The system's trust store takes about 1 MB. It is read when the first client makes a secure connection, and released with
/// the last client that uses it. Clients share no TLS session: NIOSSL resumes none.
///
/// Thread-safe.
final class SharedTLSContext: Sendable {
    private struct WeakContext: Sendable {
        weak var context: SharedTLSContext?
    }

    private static let shared = Mutex<[WeakContext]>([])

    private let configuration: TLSConfiguration
    private let context = Mutex<NIOSSLContext?>(nil)

    /// Returns the context of the clients that have the same settings, or a new context.
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

    /// Returns the context that connections are made with. The first call reads the trust store, and may block for some
    /// milliseconds; it throws if BoringSSL cannot read it.
    func loaded() throws -> NIOSSLContext {
        try context.withLock { context in
            if let context { return context }
            let loaded = try NIOSSLContext(configuration: configuration)
            context = loaded
            return loaded
        }
    }
}
