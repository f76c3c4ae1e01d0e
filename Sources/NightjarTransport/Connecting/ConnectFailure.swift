import NIOCore
import NIOPosix
import NightjarHTTP
import NightjarSystem

/// Describes why a connection could not be opened.
enum ConnectFailure {
    static func timeout(_ origin: Origin, through proxy: ProxyAddress?, _ maximumWait: TimeAmount) -> NightjarError {
        let way = proxy.map { " through the proxy \($0)" } ?? ""
        return NightjarError(
            .timeout,
            "connecting to \(origin.authority)\(way) timed out after \(seconds(maximumWait)); "
                + "check the host and port, or raise timeout.connect",
            phase: .connect, code: ETIMEDOUT)
    }

    /// Returns the error of an HTTP/2 connection whose server does not send its SETTINGS frame.
    static func noSettings(_ origin: Origin, _ maximumWait: TimeAmount) -> NightjarError {
        NightjarError(
            .timeout, "\(origin.authority) sent no HTTP/2 SETTINGS frame within \(seconds(maximumWait))",
            phase: .connect, code: ETIMEDOUT)
    }

    /// Returns the error of a connection that has waited too long for a decision of the caller.
    ///
    /// - Parameter callback: The name of the callback that decides.
    static func undecided(
        _ callback: String, phase: ErrorPhase, _ origin: Origin, _ maximumWait: TimeAmount
    ) -> NightjarError {
        NightjarError(
            .timeout,
            "connecting to \(origin.authority) timed out after \(seconds(maximumWait)): the \(callback) did not respond; "
                + "respond earlier, or raise timeout.connect",
            phase: phase, code: ETIMEDOUT)
    }

    /// Returns the error of a connection for which a callback cannot run.
    ///
    /// - Parameter hasQueue: Whether the program can set a queue for the callback.
    static func withoutQueue(
        _ callback: String, hasQueue: Bool, phase: ErrorPhase, _ host: String
    ) -> NightjarError {
        NightjarError(
            .invalidRequest,
            "connecting to \(quoted(host)) failed: no queue can run the \(callback), because the request belongs to "
                + "no call, and no call is in flight\(hasQueue ? "; set a queue together with the callback" : "")",
            phase: phase)
    }

    /// Returns the error of a connection to a host whose addresses the caller denies.
    static func denied(_ peer: Peer) -> NightjarError {
        NightjarError(
            .invalidRequest,
            "connecting to \(peer.place) failed: the on_addresses callback allows none of its addresses; allow one, or use "
                + "another host",
            phase: .connect)
    }

    /// - Parameter error: The error of the connection attempt. Nil if the peer has closed the connection without an
    ///   error.
    static func describe(_ error: (any Error)?, _ peer: Peer) -> NightjarError {
        switch error {
        case let error as NightjarError: error
        case let error as NIOConnectionError: describe(error, peer)
        case let error as IOError: systemError(error, peer)
        case let error as ChannelError:
            if case .connectTimeout(let maximumWait) = error {
                connectTimedOut(peer, maximumWait)
            } else {
                other(error, peer)
            }
        case nil:
            NightjarError(
                peer.isTLS ? .tls : .connect,
                peer.isTLS
                    ? "\(peer.place) closed the connection during the TLS handshake; check whether the port "
                        + "supports TLS"
                    : "\(peer.place) closed the connection immediately after accepting it",
                phase: peer.isTLS ? .tls : .connect)
        case let error?: other(error, peer)
        }
    }

    /// Returns the error for a failed lookup of a host's addresses.
    ///
    /// - Parameter error: The error of the lookup. Nil if the host has no address.
    static func notFound(_ host: String, _ error: (any Error)?, purpose: String = "") -> NightjarError {
        if let error = error as? NightjarError { return error }
        let failure = error as? LookupFailure
        return NightjarError(
            .dns,
            "resolving the host \(quoted(host))\(purpose) failed: \(failure?.reason ?? "it has no address"); check the "
                + "name and the DNS settings",
            phase: .dns, code: failure?.code ?? 0)
    }

    /// Returns the error for a failed lookup of a peer's addresses.
    static func notFound(_ peer: Peer, _ error: (any Error)?) -> NightjarError {
        notFound(peer.host, error, purpose: peer.isProxy ? " of the proxy" : "")
    }

    private static func connectTimedOut(_ peer: Peer, _ maximumWait: TimeAmount) -> NightjarError {
        NightjarError(
            .timeout,
            "connecting to \(peer.place)\(peer.purpose) timed out after \(seconds(maximumWait)); "
                + "check the host and port, or raise timeout.connect",
            phase: .connect, code: ETIMEDOUT)
    }

    private static func other(_ error: any Error, _ peer: Peer) -> NightjarError {
        NightjarError(.connect, "connecting to \(peer.place)\(peer.purpose) failed: \(error)", phase: .connect)
    }

    private static func describe(_ error: NIOConnectionError, _ peer: Peer) -> NightjarError {
        if let attempt = error.connectionErrors.last { return describe(attempt.error, peer) }
        return notFound(peer, error.dnsAError ?? error.dnsAAAAError)
    }

    private static func systemError(_ error: IOError, _ peer: Peer) -> NightjarError {
        let reason = String(cString: strerror(error.errnoCode))
        return NightjarError(
            error.errnoCode == ENETUNREACH || error.errnoCode == ENETDOWN ? .offline : .connect,
            "connecting to \(peer.place)\(peer.purpose) failed: \(reason)", phase: .connect, code: error.errnoCode)
    }

    private static func seconds(_ amount: TimeAmount) -> String {
        "\(Double(amount.nanoseconds / 1_000_000) / 1000) s"
    }
}

/// Describes why an open connection was lost.
enum ConnectionFailure {
    static func describe(_ error: any Error, responseHasStarted: Bool) -> NightjarError {
        let phase: ErrorPhase = responseHasStarted ? .receive : .send
        switch error {
        case let error as NightjarError: return error
        case let error as IOError:
            let reason = String(cString: strerror(error.errnoCode))
            return NightjarError(
                .connectionLost, "the connection was lost: \(reason)", phase: phase, code: error.errnoCode)
        default:
            return NightjarError(.connectionLost, "the connection was lost: \(error)", phase: phase)
        }
    }
}
