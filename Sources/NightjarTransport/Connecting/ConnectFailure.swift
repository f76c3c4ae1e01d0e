import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import NightjarHTTP

/// Says what kept a connection from opening.
enum ConnectFailure {
    static func timeout(_ origin: Origin, _ patience: TimeAmount) -> NightjarError {
        NightjarError(
            .timeout, "no connection to \(origin.authority) within \(seconds(patience))", phase: .connect,
            code: ETIMEDOUT)
    }

    static func describe(_ error: (any Error)?, _ origin: Origin) -> NightjarError {
        switch error {
        case let error as NightjarError: error
        case let error as NIOConnectionError: describe(error, origin)
        case let error as IOError: refused(error, origin)
        case let error as ChannelError:
            if case .connectTimeout(let patience) = error { timeout(origin, patience) } else { other(error, origin) }
        case nil:
            NightjarError(
                origin.isTLS ? .tls : .connect,
                origin.isTLS
                    ? "\(origin.authority) closed the connection during the TLS handshake; does it speak TLS there?"
                    : "\(origin.authority) closed the connection as it opened",
                phase: origin.isTLS ? .tls : .connect)
        case let error?: other(error, origin)
        }
    }

    private static func other(_ error: any Error, _ origin: Origin) -> NightjarError {
        TLSFailure.describe(error, origin)
            ?? NightjarError(.connect, "cannot connect to \(origin.authority): \(error)", phase: .connect)
    }

    private static func describe(_ error: NIOConnectionError, _ origin: Origin) -> NightjarError {
        if let attempt = error.connectionErrors.last { return describe(attempt.error, origin) }
        let failure = (error.dnsAError ?? error.dnsAAAAError) as? LookupFailure
        return NightjarError(
            .dns,
            "the host \(quoted(origin.host)) cannot be found: \(failure?.reason ?? "it has no address"); check its spelling",
            phase: .dns, code: failure?.code ?? 0)
    }

    private static func refused(_ error: IOError, _ origin: Origin) -> NightjarError {
        let reason = String(cString: strerror(error.errnoCode))
        return NightjarError(
            error.errnoCode == ENETUNREACH || error.errnoCode == ENETDOWN ? .offline : .connect,
            "cannot connect to \(origin.authority): \(reason)", phase: .connect, code: error.errnoCode)
    }

    private static func seconds(_ amount: TimeAmount) -> String {
        "\(Double(amount.nanoseconds / 1_000_000) / 1000) s"
    }
}

/// Says what broke a connection that was open.
enum ConnectionFailure {
    static func describe(_ error: any Error, answerHasBegun: Bool) -> NightjarError {
        let phase: ErrorPhase = answerHasBegun ? .receive : .send
        switch error {
        case let error as NightjarError: return error
        case let error as IOError:
            let reason = String(cString: strerror(error.errnoCode))
            return NightjarError(
                .connectionLost, "the connection broke: \(reason)", phase: phase, code: error.errnoCode)
        case NIOSSLError.uncleanShutdown:
            return NightjarError(
                .connectionLost, "the server ended TLS without saying so; the answer may be cut short", phase: .receive)
        case is NIOSSLError, is BoringSSLError:
            return NightjarError(.tls, "TLS failed on the open connection: \(error)", phase: .tls)
        default:
            return NightjarError(.connectionLost, "the connection broke: \(error)", phase: phase)
        }
    }
}

/// Says why a TLS handshake failed.
enum TLSFailure {
    static func describe(_ error: any Error, _ origin: Origin) -> NightjarError? {
        let place = origin.authority
        switch error {
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            return NightjarError(
                .tls, "the certificate of \(place) is for another name: \(error.description)", phase: .tls)
        case NIOSSLError.handshakeFailed(let reason):
            let reason = String(describing: reason)
            if reason.contains("CERTIFICATE_VERIFY_FAILED") {
                return NightjarError(
                    .tls,
                    "the certificate of \(place) is not trusted: no known authority vouches for it, or it has expired; "
                        + "for an authority of your own set its file (ca_file)", phase: .tls)
            }
            if reason.contains("WRONG_VERSION_NUMBER") || reason.contains("HTTP_REQUEST") {
                return NightjarError(
                    .tls, "\(place) does not speak TLS there; is the URL meant to begin with http: ?", phase: .tls)
            }
            return NightjarError(.tls, "the TLS handshake with \(place) failed: \(reason)", phase: .tls)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            return NightjarError(.tls, "the TLS handshake with \(place) failed: \(error)", phase: .tls)
        default:
            return nil
        }
    }
}
