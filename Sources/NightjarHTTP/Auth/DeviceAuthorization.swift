/// The answer of a device authorization endpoint: what the user is shown, and what we ask with. RFC 8628 section 3.2.
public struct DeviceAuthorization: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// For ``OAuthRequest/deviceCode(_:client:)``, and nobody else.
    public let deviceCode: String
    /// What the user enters at ``page``.
    public let userCode: String
    public let page: String
    /// The page with the code filled in, for a QR code or a browser that is opened.
    public let completePage: String?
    public let lifetime: Duration
    public let interval: Duration

    /// Where the server names none. RFC 8628 section 3.2.
    private static let defaultInterval = Duration.seconds(5)
    /// A server has to name it; for one that does not, what most of them have.
    private static let defaultLifetime = Duration.seconds(900)
    private static let longest = Duration.seconds(86_400)
    /// Fractions are against the RFC and of use in tests; nothing is not.
    private static let shortestInterval = Duration.milliseconds(50)

    public var description: String { "device authorization ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// - Throws: `unauthorized` when the server refuses, `decoding` for an answer that is none. What is shown to the user
    ///   holds no control characters, and its pages are of http or https: they are opened and printed.
    public init(status: Int, body: UnsafeRawBufferPointer) throws(NightjarError) {
        guard body.count <= TokenResponse.largestBody else {
            throw NightjarError(.tooLarge, "the device authorization endpoint's answer is larger than 1 MiB")
        }
        let json: JSONValue
        do {
            json = try JSONValue(parsing: body)
        } catch {
            throw NightjarError(.decoding, "the device authorization endpoint answered \(status) with no JSON")
        }
        if let code = json["error"]?.nonEmptyText {
            throw NightjarError(.unauthorized, "the server gives no device code: \(quoted(code))")
        }
        guard 200..<300 ~= status else {
            throw NightjarError(.decoding, "the device authorization endpoint answered \(status) without an \"error\"")
        }
        func member(_ names: String...) throws(NightjarError) -> String {
            guard let text = names.lazy.compactMap({ json[$0]?.nonEmptyText }).first, FieldSyntax.isValue(text.utf8)
            else {
                throw NightjarError(
                    .decoding, "the device authorization endpoint's answer has no proper \"\(names.first ?? "")\"")
            }
            return text
        }
        deviceCode = try member("device_code")
        userCode = try member("user_code")
        page = try member("verification_uri", "verification_url")
        let complete = json["verification_uri_complete"]?.nonEmptyText
        for address in [page, complete].compactMap({ $0 }) {
            do throws(NightjarError) {
                _ = try RequestURL(address)
            } catch {
                throw NightjarError(.decoding, "the server sends the user to what is no page: \(error.message)")
            }
        }
        completePage = complete
        lifetime = min(json["expires_in"]?.lifetime ?? DeviceAuthorization.defaultLifetime, DeviceAuthorization.longest)
        let pace = json["interval"]?.lifetime ?? DeviceAuthorization.defaultInterval
        interval = max(min(pace, DeviceAuthorization.longest), DeviceAuthorization.shortestInterval)
    }
}
