import NIOCore
import NIOHTTP1

/// `/v1/oauth/device`: the device authorization grant (RFC 8628). A device without a browser requests a code and polls
/// the token endpoint until a person has decided in a browser. Used only on the server's event loop.
final class DeviceCodes: Resettable {
    private enum Decision {
        case pending, allowed, denied, redeemed
    }

    private struct Code {
        let userCode: String
        let interval: TimeAmount
        let expiresAt: NIODeadline
        var decision = Decision.pending
        var lastPoll: NIODeadline?
    }

    private static let maximumCodes = 1000
    private static let defaultLifetime = 300.0

    private let store: Store
    private var codes = BoundedTable<String, Code>(capacity: DeviceCodes.maximumCodes)
    /// Device codes by user code.
    private var userCodes = BoundedTable<String, String>(capacity: DeviceCodes.maximumCodes)

    init(store: Store) {
        self.store = store
    }

    func add(to router: inout Router) {
        router.on(.POST, "/v1/oauth/device", begin)
        router.on(.GET, "/v1/oauth/device", page)
        router.on(.POST, "/v1/oauth/device/decide", decide)
    }

    func reset() {
        codes.removeAll()
        userCodes.removeAll()
    }

    /// Issues a device code. `interval` and `expires_in` are in seconds and may have a fraction.
    private func begin(_ request: Request) throws(Problem) -> Response {
        let parameters = try Parameters(request)
        let interval = try parameters.seconds("interval", atMost: 3600, or: 1)
        let lifetime = try parameters.seconds("expires_in", atMost: 3600, or: DeviceCodes.defaultLifetime)
        do throws(OAuthError) {
            if case .nobody = try OAuthClient.identify(request, parameters) {
                throw OAuthError(.invalidRequest, "client_id is required")
            }
        } catch {
            return error.response
        }
        let deviceCode = Tokens.random("dc_")
        let userCode = DeviceCodes.randomUserCode()
        codes.set(
            Code(
                userCode: userCode, interval: TimeAmount(seconds: interval),
                expiresAt: .now() + TimeAmount(seconds: lifetime)), for: deviceCode)
        userCodes.set(deviceCode, for: DeviceCodes.normalized(userCode))
        let address = "http://\(request.head.headers.first(name: "host") ?? "127.0.0.1")/v1/oauth/device"
        return .grant([
            "device_code": .string(deviceCode),
            "user_code": .string(userCode),
            "verification_uri": .string(address),
            "verification_uri_complete": .string("\(address)?user_code=\(userCode)"),
            "expires_in": .seconds(lifetime),
            "interval": .seconds(interval),
        ])
    }

    /// Returns the page for the person's browser.
    private func page(_ request: Request) throws(Problem) -> Response {
        let code = request.query("user_code").map(DeviceCodes.normalized) ?? ""
        let html = """
            <!doctype html><html lang="en"><title>Nightjar demo</title>
            <form method="post" action="/v1/oauth/device/decide">
            <p>A device asks for access. Its code: <input name="user_code" value="\(code)">
            <button name="allow" value="true">Allow</button> <button name="allow" value="false">Deny</button>
            </form></html>
            """
        return Response(
            .ok, headers: ["Content-Type": "text/html; charset=utf-8"], body: .bytes(ByteBuffer(string: html)))
    }

    /// Records the person's decision, which is final. The case and the hyphen of `user_code` are ignored.
    private func decide(_ request: Request) throws(Problem) -> Response {
        let parameters = try Parameters(request)
        let userCode = DeviceCodes.normalized(try parameters.text("user_code"))
        _ = try parameters.text("allow")
        let allows = try parameters.flag("allow")
        guard let deviceCode = userCodes[userCode], var code = codes[deviceCode], .now() < code.expiresAt else {
            throw Problem(.notFound, "the code is unknown or has expired")
        }
        guard code.decision == .pending else { throw Problem(.conflict, "this code was already allowed or denied") }
        code.decision = allows ? .allowed : .denied
        codes.set(code, for: deviceCode)
        return .json(["user_code": .string(code.userCode), "allow": .bool(allows)])
    }

    /// Handles one poll of the device.
    ///
    /// - Returns: the identifier of the user who allowed the access. A code can be redeemed only once.
    func redeem(_ deviceCode: String, now: NIODeadline) throws(OAuthError) -> Int {
        guard var code = codes[deviceCode], code.decision != .redeemed else {
            throw OAuthError(.invalidGrant, "the code is unknown or was already redeemed")
        }
        let isTooSoon = code.lastPoll.map { now - $0 < code.interval } ?? false
        code.lastPoll = now
        defer { codes.set(code, for: deviceCode) }
        guard now < code.expiresAt else { throw OAuthError(.expiredToken, "the code has expired") }
        // The server does not change its interval. The client adds 5 seconds to its own interval (RFC 8628 section
        // 3.5).
        guard !isTooSoon else { throw OAuthError(.slowDown, "polls must be further apart") }
        switch code.decision {
        case .pending: throw OAuthError(.authorizationPending, "the user has not decided yet")
        case .denied: throw OAuthError(.accessDenied, "the user denied the request")
        case .redeemed, .allowed: break
        }
        guard let user = store.users.rows.first else { throw OAuthError(.accessDenied, "there are no users") }
        code.decision = .redeemed
        return user.id
    }

    /// Returns eight consonants. They form no words and are easy to distinguish (RFC 8628 section 6.1).
    private static func randomUserCode() -> String {
        let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
        let code = (0..<8).map { _ in letters[Int.random(in: 0..<letters.count)] }
        return String(code.prefix(4)) + "-" + String(code.suffix(4))
    }

    private static func normalized(_ code: String) -> String {
        String(code.uppercased().filter { $0.isASCII && $0.isLetter }.prefix(20))
    }
}
