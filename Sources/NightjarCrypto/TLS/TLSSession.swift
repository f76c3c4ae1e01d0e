internal import CNIOBoringSSL

/// A session that a later connection to the same server can resume without certificates (RFC 8446 section 2.2, RFC 5077).
/// Immutable and thread-safe.
package final class TLSSession: @unchecked Sendable {
    let handle: OpaquePointer

    init(adopting handle: OpaquePointer) { self.handle = handle }

    deinit { SSL_SESSION_free(handle) }

    /// Whether the session must be used only once, so that observers cannot link connections (RFC 8446 appendix C.4).
    package var isSingleUse: Bool { SSL_SESSION_should_be_single_use(handle) == 1 }
}
