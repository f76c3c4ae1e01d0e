import NightjarHTTP
import Synchronization

/// Reports that the client does not verify TLS certificates: in the decisions of calls that use TLS, and once in the
/// log.
final class WarnAboutTLS: Stage, @unchecked Sendable {
    override var hooks: StageHooks { .outgoing }
    private let hasWarned: Atomic<Bool> = Atomic(false)

    override func outgoing(_ call: Call) -> Verdict {
        guard call.request.origin.isTLS else { return .proceed }
        call.decideOnce(.unverifiedTLS)
        if !hasWarned.exchange(true, ordering: .relaxed) {
            call.note(
                .warning,
                "TLS certificates are not verified (tls.verify is false), so an attacker can read and change the "
                    + "traffic with "
                    + "\(call.request.origin); set tls.ca_file for a private certificate authority")
        }
        return .proceed
    }
}
