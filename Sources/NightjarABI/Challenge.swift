import CNightjar
import Nightjar
import NightjarHandles
import NightjarTransport

/// A challenge as C sees it, and its texts. If C releases it without a response, the default applies.
final class ChallengeBox: Sendable {
    let challenge: Authentication.Challenge
    let host: CString
    let scheme: CString?
    let realm: CString?
    let json: CString

    init(_ challenge: Authentication.Challenge) {
        self.challenge = challenge
        host = CString(challenge.host)
        if case .http(let scheme, let realm) = challenge.kind {
            self.scheme = CString(scheme)
            self.realm = CString(realm)
        } else {
            scheme = nil
            realm = nil
        }
        json = CString(challenge.jsonText)
    }
}

@_cdecl("nj_config_on_challenge") @implementation
public func nj_config_on_challenge(
    _ config: OpaquePointer?, _ decide: nj_challenge_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard let decide else { return configuration.onChallenge = nil }
        let context = CallbackContext(pointer: context)
        configuration.onChallenge = Authentication.ChallengeHandler.onQueues { challenge in
            let box = ChallengeBox(challenge)
            withExtendedLifetime(box) { decide(context.pointer, Handle.lend(box)) }
        }
    }
}

@_cdecl("nj_challenge_kind") @implementation
public func nj_challenge_kind(_ challenge: OpaquePointer?) -> nj_challenge_type {
    switch Handle<ChallengeBox>.borrow(challenge)?.challenge.kind {
    case nil: NJ_CHALLENGE_NONE
    case .http: NJ_CHALLENGE_HTTP
    case .clientCertificate: NJ_CHALLENGE_CLIENT_CERTIFICATE
    case .serverTrust: NJ_CHALLENGE_SERVER_TRUST
    }
}

@_cdecl("nj_challenge_host") @implementation
public func nj_challenge_host(_ challenge: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<ChallengeBox>.borrow(challenge)?.host.pointer
}

@_cdecl("nj_challenge_port") @implementation
public func nj_challenge_port(_ challenge: OpaquePointer?) -> CInt {
    CInt(clamping: Handle<ChallengeBox>.borrow(challenge)?.challenge.port ?? 0)
}

@_cdecl("nj_challenge_is_proxy") @implementation
public func nj_challenge_is_proxy(_ challenge: OpaquePointer?) -> Bool {
    Handle<ChallengeBox>.borrow(challenge)?.challenge.isProxy ?? false
}

@_cdecl("nj_challenge_is_encrypted") @implementation
public func nj_challenge_is_encrypted(_ challenge: OpaquePointer?) -> Bool {
    Handle<ChallengeBox>.borrow(challenge)?.challenge.isEncrypted ?? false
}

@_cdecl("nj_challenge_scheme") @implementation
public func nj_challenge_scheme(_ challenge: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<ChallengeBox>.borrow(challenge)?.scheme?.pointer
}

@_cdecl("nj_challenge_realm") @implementation
public func nj_challenge_realm(_ challenge: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<ChallengeBox>.borrow(challenge)?.realm?.pointer
}

@_cdecl("nj_challenge_rejections") @implementation
public func nj_challenge_rejections(_ challenge: OpaquePointer?) -> Int {
    Handle<ChallengeBox>.borrow(challenge)?.challenge.rejections ?? 0
}

@_cdecl("nj_challenge_json") @implementation
public func nj_challenge_json(
    _ challenge: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    lend(Handle<ChallengeBox>.borrow(challenge)?.json, outLength)
}

/// Responds to a challenge.
private func respond(
    _ challenge: OpaquePointer?, _ response: () throws(NightjarError) -> Authentication.Challenge.Response
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<ChallengeBox>.borrow(challenge), "challenge")
        try box.challenge.respond(try response())
    }
}

@_cdecl("nj_challenge_use_default") @implementation
public func nj_challenge_use_default(_ challenge: OpaquePointer?) -> nj_status {
    respond(challenge) { () throws(NightjarError) in .useDefault }
}

@_cdecl("nj_challenge_use_password") @implementation
public func nj_challenge_use_password(
    _ challenge: OpaquePointer?, _ user: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?
) -> nj_status {
    respond(challenge) { () throws(NightjarError) in
        .password(user: try required(text(user), "user"), password: try required(text(password), "password"))
    }
}

@_cdecl("nj_challenge_use_certificate_file") @implementation
public func nj_challenge_use_certificate_file(
    _ challenge: OpaquePointer?, _ file: UnsafePointer<CChar>?, _ keyFile: UnsafePointer<CChar>?,
    _ password: UnsafePointer<CChar>?
) -> nj_status {
    respond(challenge) { () throws(NightjarError) in
        let file = try required(text(file), "file")
        let key = try optional(keyFile, "key_file") ?? file
        return .certificate(
            TransportConfiguration.TLS.ClientCertificate(
                .pem(certificates: file, key: key), password: try optional(password, "password")))
    }
}

@_cdecl("nj_challenge_use_certificate_pkcs12") @implementation
public func nj_challenge_use_certificate_pkcs12(
    _ challenge: OpaquePointer?, _ file: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?
) -> nj_status {
    respond(challenge) { () throws(NightjarError) in
        .certificate(
            TransportConfiguration.TLS.ClientCertificate(
                .pkcs12(try required(text(file), "file")), password: try optional(password, "password")))
    }
}

@_cdecl("nj_challenge_cancel") @implementation
public func nj_challenge_cancel(_ challenge: OpaquePointer?, _ message: UnsafePointer<CChar>?) -> nj_status {
    respond(challenge) { () throws(NightjarError) in .cancel(try optional(message, "message")) }
}

@_cdecl("nj_challenge_retain") @implementation
public func nj_challenge_retain(_ challenge: OpaquePointer?) -> OpaquePointer? {
    Handle<ChallengeBox>.borrow(challenge).map { Handle.make($0) }
}

@_cdecl("nj_challenge_release") @implementation
public func nj_challenge_release(_ challenge: OpaquePointer?) {
    _ = Handle<ChallengeBox>.take(challenge)
}
