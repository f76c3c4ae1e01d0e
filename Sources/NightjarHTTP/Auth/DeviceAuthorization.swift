/// The response of a device authorization endpoint. RFC 8628 section 3.2.
public struct DeviceAuthorization: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The device code, for ``OAuthRequest/deviceCode(_:client:)``. Must not be shown.
    public let deviceCode: String
    /// The code that the user enters on ``page``.
    public let userCode: String
    public let page: String
    /// The URL of the page with the code filled in, for a QR code or for opening in a browser.
    public let completePage: String?
    public let lifetime: Duration
    public let interval: Duration

    /// The polling interval if the response has no valid `interval`. RFC 8628 section 3.2.
    private static let defaultInterval = Duration.seconds(5)
    /// The lifetime if the response has no valid `expires_in`, which RFC 8628 requires.
    private static let defaultLifetime = Duration.seconds(900)
    private static let longest = Duration.seconds(86_400)
    /// The minimum interval. Intervals below a second are useful in tests.
    private static let shortestInterval = Duration.milliseconds(50)

    public var description: String { "device authorization ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// - Throws: `unauthorized` if the server refuses, `too_large` if the response exceeds 1 MiB, `decoding` if the
    ///   response is invalid, for example because a code contains control characters or a page URL is not http or
    ///   https.
    public init(status: Int, body: UnsafeRawBufferPointer) throws(NightjarError) {
        guard body.count <= TokenResponse.largestBody else {
            throw NightjarError(.tooLarge, "the response of the device authorization endpoint is larger than 1 MiB")
        }
        let json: JSONValue
        do {
            json = try JSONValue(parsing: body)
        } catch {
            throw NightjarError(
                .decoding, "the device authorization endpoint responded \(status), and its body is not JSON")
        }
        if let code = json["error"]?.nonEmptyText {
            throw NightjarError(.unauthorized, "the server refused to issue a device code: \(quoted(code))")
        }
        guard 200..<300 ~= status else {
            throw NightjarError(
                .decoding,
                "the device authorization endpoint responded \(status), and its JSON has no valid \"error\"")
        }
        func member(_ names: String...) throws(NightjarError) -> String {
            guard let text = names.lazy.compactMap({ json[$0]?.nonEmptyText }).first, FieldSyntax.isValue(text.utf8)
            else {
                throw NightjarError(
                    .decoding, "the response of the device authorization endpoint has no valid \"\(names.first ?? "")\""
                )
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
                throw NightjarError(
                    .decoding, "the verification page of the server is not a valid URL: \(error.message)")
            }
        }
        completePage = complete
        lifetime = min(
            json["expires_in"]?.lifetime(in: .seconds) ?? DeviceAuthorization.defaultLifetime,
            DeviceAuthorization.longest)
        let pace = json["interval"]?.lifetime(in: .seconds) ?? DeviceAuthorization.defaultInterval
        interval = max(min(pace, DeviceAuthorization.longest), DeviceAuthorization.shortestInterval)
    }
}
