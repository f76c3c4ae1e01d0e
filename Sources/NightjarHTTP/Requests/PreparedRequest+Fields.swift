import NIOCore

/// Writes the field lines of a head, except for Expect and the fields that frame the body.
extension PreparedRequest {
    /// Writes the field lines.
    ///
    /// - Parameters:
    ///   - foreign: the request's origin if it differs from the origin of the template's base URL, or if there is no
    ///     base URL. Nil otherwise.
    ///   - userInfo: the user info of the target. Sent as Basic credentials if the request has no Authorization field.
    /// - Returns: true if the written Cookie field combines the request's cookies with a Cookie field of the request's
    ///   headers or of the default fields.
    static func writeFields(
        _ request: Request, _ template: RequestTemplate, foreign: Origin?, _ userInfo: UserInfo?,
        into head: inout ByteBuffer
    ) throws(NightjarError) -> Bool {
        let headers = request.headers
        let rules = try FieldRules(request, template, userInfo)
        if let host = rules.host {
            headers.withBytes(at: host) { HeadWriter.writeField($0, $1, into: &head) }
        } else if let foreign, template.base != nil || template.hostLine.readableBytes == 0 {
            head.writeString(foreign.hostLine)
        } else {
            head.writeImmutableBuffer(template.hostLine)
        }

        // The values of the Cookie fields to combine with the request's own cookies in one field.
        var cookies: [String] = []
        let isElsewhere = foreign != nil && template.base != nil
        if !isElsewhere, !rules.replacesDefault {
            head.writeImmutableBuffer(template.fieldLines)
        } else {
            writeDefaults(
                isElsewhere ? template.publicFields : template.fields, for: headers, rules, &cookies, into: &head)
        }
        if let credentials = rules.credentials { head.writeString("Authorization: \(credentials)\r\n") }
        for index in 0..<headers.count where index != rules.host {
            headers.withBytes(at: index) { name, value in
                if rules.hasCookies, CookieField.isName(name) {
                    return cookies.append(String(decoding: value, as: UTF8.self))
                }
                HeadWriter.writeField(name, value, into: &head)
            }
        }
        if let type = request.impliedType, request.body.isPresent, headers.firstIndex(of: "Content-Type") == nil,
            !template.hasField("Content-Type")
        {
            head.writeStaticString(type.line)
        }
        guard rules.hasCookies else { return false }
        head.writeString("Cookie: \((cookies + request.cookies).joined(separator: "; "))\r\n")
        return !cookies.isEmpty
    }

    /// Writes the default fields that the request does not replace.
    private static func writeDefaults(
        _ defaults: Headers, for headers: Headers, _ rules: FieldRules, _ cookies: inout [String],
        into head: inout ByteBuffer
    ) {
        for index in 0..<defaults.count {
            defaults.withBytes(at: index) { name, value in
                guard headers.firstIndex(of: name) == nil else { return }
                if rules.credentials != nil, ASCII.isCaseless(name, "authorization") { return }
                if !rules.takesCodings, ASCII.isCaseless(name, "accept-encoding") { return }
                if rules.hasCookies, CookieField.isName(name) {
                    return cookies.append(String(decoding: value, as: UTF8.self))
                }
                HeadWriter.writeField(name, value, into: &head)
            }
        }
    }

    /// The effect of the request's own fields on the default fields.
    private struct FieldRules {
        /// The index of the request's Host field.
        private(set) var host: Int?
        /// True if the response may be compressed. False for a range request (RFC 9110 section 14.2), because a part of
        /// a compressed body cannot be decoded.
        private(set) var takesCodings: Bool
        /// The value of the Authorization field from the target's user info. Nil if the field is not added.
        let credentials: String?
        let hasCookies: Bool
        /// True if a default field may have to be omitted.
        private(set) var replacesDefault: Bool

        /// - Throws: `invalid_request` for a field that a caller cannot set, and for a repeated or invalid Host field.
        @inline(__always)
        init(_ request: Request, _ template: RequestTemplate, _ userInfo: UserInfo?) throws(NightjarError) {
            let headers = request.headers
            try headers.checkLiterals()
            takesCodings = request.decompresses ?? true
            credentials = headers.firstIndex(of: "Authorization") == nil ? userInfo?.basicCredentials : nil
            hasCookies = !request.cookies.isEmpty
            replacesDefault = !takesCodings || credentials != nil || hasCookies
            for index in 0..<headers.count {
                let name = headers.withBytes(at: index) { name, _ in
                    (
                        reserved: ReservedField.reason(name),
                        isHost: name.count == 4 && ASCII.isCaseless(name, "host"),
                        isRange: name.count == 5 && ASCII.isCaseless(name, "range"),
                        replaces: template.mayHaveField(namedLike: name)
                    )
                }
                if let reason = name.reserved {
                    throw NightjarError(
                        .invalidRequest, "header \"\(headers.name(at: index))\" cannot be set: \(reason)")
                }
                replacesDefault = replacesDefault || name.replaces || name.isRange
                takesCodings = takesCodings && !name.isRange
                guard name.isHost else { continue }
                guard host == nil else {
                    throw NightjarError(.invalidRequest, "header \"Host\" is set more than once; set it once")
                }
                try HostField.check(headers.value(at: index))
                host = index
            }
        }
    }
}
