import NightjarCrypto
import NightjarHTTP

/// A decision of the caller that a connection waits for while it is opened. Used on the loop.
///
/// Decisions about TLS handshakes are requested once for each connection, and only after the server's certificate chain has
/// been verified and compared with the pins.
public final class ConnectionChallenge {
    package enum Subject: Sendable {
        /// The server requests a client certificate, and none is configured for the peer. The names of the certificate
        /// authorities that the server accepts are empty if the server has not sent them.
        case clientCertificate(authorities: [String])
        /// The server's certificates, its own first. The chain is valid, so the decision can only reject it.
        case serverTrust([TLSDetails.Certificate])
        /// The host has no known addresses, and the caller resolves names.
        case name
        /// The addresses of the host, to some of which the caller may deny connections.
        case addresses([IPAddress])
    }

    package enum Decision: Sendable {
        /// Continue without a client certificate, with the verified chain, with the system's lookup of the name, or with all
        /// addresses.
        case useDefault
        /// Send this client certificate. For other subjects, the same as ``useDefault``.
        case certificate(ClientIdentity)
        /// Use these addresses, in this order. For other subjects than names and addresses, the same as ``useDefault``.
        case addresses([IPAddress])
        /// Close the connection. The call for which it was opened fails with this error.
        case fail(NightjarError)
    }

    package let subject: Subject
    package let host: String
    package let port: Int
    package let isProxy: Bool
    /// The client's request for the decision. The calls that wait for the connection share it.
    package var request: AnyObject?
    /// Called when the caller's decision is no longer needed.
    package var withdrawn: (() -> Void)?
    private var resume: ((Decision) -> Void)?

    init(_ subject: Subject, from peer: Peer, resume: @escaping (Decision) -> Void) {
        self.subject = subject
        host = peer.host
        port = peer.port
        isProxy = peer.isProxy
        self.resume = resume
    }

    /// Whether the connection still waits for the decision.
    package var isPending: Bool { resume != nil }

    /// The decision if no caller can decide.
    var fallback: Decision {
        switch subject {
        case .clientCertificate: .useDefault
        case .serverTrust, .name, .addresses:
            .fail(
                ConnectFailure.withoutQueue(
                    subject.callback, hasQueue: subject.hasQueue, phase: subject.phase, host))
        }
    }

    /// Continues opening the connection, only while the connection waits. Ignored after the first decision and after
    /// the end of the connection.
    package func decide(_ decision: Decision) {
        // A callback that has not run yet must not run any more.
        withdrawn?()
        release()
        resume.take()?(decision)
    }

    /// Discards the challenge, because the connection has ended.
    func withdraw() {
        resume = nil
        withdrawn?()
        release()
    }

    /// Breaks the reference cycle with the client's request.
    private func release() {
        request = nil
        withdrawn = nil
    }
}

extension ConnectionChallenge.Subject {
    /// The name of the callback in messages.
    var callback: String {
        switch self {
        case .clientCertificate, .serverTrust: "challenge callback"
        case .name: "resolver callback"
        case .addresses: "on_addresses callback"
        }
    }

    /// Whether the program can set a queue for the callback.
    var hasQueue: Bool {
        switch self {
        case .clientCertificate, .serverTrust: false
        case .name, .addresses: true
        }
    }

    var phase: ErrorPhase {
        switch self {
        case .clientCertificate, .serverTrust: .tls
        case .name: .dns
        case .addresses: .connect
        }
    }
}

/// The decisions that the handshake with one peer waits for.
struct HandshakeChallenges {
    typealias Request = (ConnectionChallenge.Subject, _ resume: @escaping (ConnectionChallenge.Decision) -> Void) ->
        Void

    /// Whether the server's chain may be rejected.
    var decidesTrust: Bool
    /// Whether a requested client certificate may be chosen.
    var decidesCertificate: Bool
    /// Must not call its argument before it has returned.
    let request: Request
}

extension TransportConfiguration.TLS.ClientCertificate {
    /// Reads the files of the certificate. Blocks the thread.
    ///
    /// - Throws: `tls` if the certificate or its key cannot be read.
    package func loaded() throws(NightjarError) -> ClientIdentity { try ClientIdentities.read(self) }
}
