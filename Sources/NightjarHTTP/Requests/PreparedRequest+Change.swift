import NIOCore

/// Changed copies of a request, for stages such as cookies and redirects.
///
/// A change of the fields parses the head again, which takes about a microsecond. Storing the fields separately would
/// slow down every call.
extension PreparedRequest {
    /// The fields of the head, including Host and the framing fields.
    public var fields: Headers {
        wireHead.withUnsafeReadableBytes { bytes in
            // Skip the request line and the final empty line.
            guard let start = bytes.firstIndex(of: UInt8(ascii: "\n")), start + 1 <= bytes.count - 2 else {
                return Headers()
            }
            return Headers(written: UnsafeRawBufferPointer(rebasing: bytes[(start + 1)..<(bytes.count - 2)]))
        }
    }

    /// Returns true if the head has a field of this name.
    public func hasField(_ name: String) -> Bool { fields.firstIndex(of: name) != nil }

    /// Returns a copy in which one field replaces all fields of this name. If `value` is nil, these fields are removed.
    ///
    /// - Throws: `invalid_request` if the name or value is invalid.
    public func setting(_ name: String, _ value: String?) throws(NightjarError) -> PreparedRequest {
        var fields = fields
        if let value { try fields.set(name, value) } else { fields.remove(name) }
        return PreparedRequest(values, fields: fields)
    }

    /// Returns a copy with a field that the caller has set. If `value` is nil, the field is removed.
    ///
    /// - Throws: `invalid_request` if the name or value is invalid, if the field is reserved (see ``ReservedField``),
    ///   or if Host is removed or invalid.
    public func settingByCaller(_ name: String, _ value: String?) throws(NightjarError) -> PreparedRequest {
        var text = name
        let (reason, isHost) = text.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return (ReservedField.reason(bytes), bytes.count == 4 && ASCII.isCaseless(bytes, "host"))
        }
        if let reason {
            throw NightjarError(.invalidRequest, "header \(quoted(name)) cannot be set: \(reason)")
        }
        if isHost {
            guard let value else {
                throw NightjarError(
                    .invalidRequest, "header \"Host\" cannot be removed, because HTTP/1.1 requires it")
            }
            try HostField.check(value)
        }
        let changed = try setting(name, value)
        let isCookie = text.withUTF8 { CookieField.isName(UnsafeRawBufferPointer($0)) }
        return isCookie ? changed.with(ownCookies: []) : changed
    }

    /// Returns a copy with an additional cookie of the call. The Cookie field of the copy contains only the cookies of
    /// the call. The cookie is masked when the request is shown without secrets.
    ///
    /// - Parameter cookie: `name=value`.
    /// - Throws: `invalid_request` if the cookie is not a valid field value.
    public func adding(cookie: String) throws(NightjarError) -> PreparedRequest {
        let own = ownCookies + [cookie]
        return try setting("Cookie", own.joined(separator: "; ")).with(ownCookies: own)
    }

    private func with(ownCookies: [String]) -> PreparedRequest {
        var values = values
        values.ownCookies = ownCookies
        return PreparedRequest(values, wireHead: wireHead)
    }

    /// Returns a copy with an additional field whose value is masked when the request is shown without secrets.
    ///
    /// - Throws: `invalid_request` if the name or value is invalid.
    public func addingSecret(field name: String, _ value: String) throws(NightjarError) -> PreparedRequest {
        var fields = fields
        try fields.add(name, value)
        var values = values
        values.addSensitive(name)
        return PreparedRequest(values, fields: fields)
    }

    /// Returns a copy with an additional query item whose value is masked when the request is shown without secrets.
    ///
    /// - Throws: `invalid_url` if the target becomes too long.
    public func addingSecret(query name: String, _ value: String) throws(NightjarError) -> PreparedRequest {
        var target = ByteBuffer(string: url.target + (url.query == nil ? "?" : "&"))
        PercentEncoding.writeComponent(name, into: &target)
        target.writeInteger(UInt8(ascii: "="))
        PercentEncoding.writeComponent(value, into: &target)
        try RequestTarget.checkLength(target.readableBytes)
        let longer = RequestURL(
            origin: url.origin, target: String(buffer: target), userInfo: url.userInfo, sensitive: url.sensitive)
        var values = values
        values.url = longer.hiding([name])
        values.addSensitive(name)
        return PreparedRequest(values, fields: fields)
    }

    /// A copy without its body, for records that must not expose it.
    public var withoutBody: PreparedRequest {
        var values = values
        values.removeBody()
        return PreparedRequest(values, wireHead: wireHead)
    }

    /// Returns a copy without the `Expect: 100-continue` field.
    public func withoutExpectation() -> PreparedRequest {
        var fields = fields
        fields.remove("Expect")
        var values = values
        values.expectsContinue = false
        return PreparedRequest(values, fields: fields)
    }

    /// Returns the request that follows a redirect.
    ///
    /// - Parameters:
    ///   - sensitive: names of fields that are never sent to another origin, even if `forwarded` contains them.
    ///   - forwarded: the fields that are sent to another origin.
    public func following(
        _ proposed: ProposedRedirect, sensitive: [String] = [], forwarded: ForwardedFields = .standard
    ) throws(NightjarError) -> PreparedRequest {
        var fields = fields
        // Like credentials, a Host field that the caller set is not sent to another origin.
        let host = proposed.dropsCredentials ? nil : fields["Host"]
        for name in PreparedRequest.rewrittenFields { fields.remove(name) }
        fields = proposed.headers(from: fields, sensitive: sensitive, forwarded: forwarded)
        var values = values
        values.method = proposed.method
        values.url = proposed.url
        if !proposed.keepsBody { values.removeBody() }
        if proposed.dropsCredentials { values.ownCookies = [] }
        return try PreparedRequest(values, host: host ?? proposed.url.origin.hostField, fields: fields)
    }

    /// Host, Expect, and the fields of ``HeadWriter/writeFraming(_:method:expectsContinue:into:)``.
    private static let rewrittenFields = [
        "Host", "Content-Length", "Transfer-Encoding", "Expect", "Connection", "Upgrade", "Sec-WebSocket-Version",
    ]

    /// - Parameter fields: all fields except Host, Expect and the fields that frame the body.
    private convenience init(_ values: Values, host: String, fields: Headers) throws(NightjarError) {
        var head = PreparedRequest.startLine(values)
        head.writeString("Host: \(host)\r\n")
        PreparedRequest.write(fields, into: &head)
        try HeadWriter.writeFraming(
            values.body.framing(isCoded: values.isCompressed), method: values.method,
            expectsContinue: values.expectsContinue, into: &head)
        head.writeStaticString("\r\n")
        self.init(values, wireHead: head)
    }

    /// - Parameter fields: all fields, including Host, Expect and the fields that frame the body.
    private convenience init(_ values: Values, fields: Headers) {
        var head = PreparedRequest.startLine(values)
        PreparedRequest.write(fields, into: &head)
        head.writeStaticString("\r\n")
        self.init(values, wireHead: head)
    }

    private static func startLine(_ values: Values) -> ByteBuffer {
        var head = ByteBuffer()
        head.writeString("\(values.method.name) \(values.url.target) HTTP/1.1\r\n")
        return head
    }

    private static func write(_ fields: Headers, into head: inout ByteBuffer) {
        for index in 0..<fields.count {
            fields.withBytes(at: index) { HeadWriter.writeField($0, $1, into: &head) }
        }
    }
}

extension PreparedRequest.Values {
    fileprivate mutating func removeBody() {
        body = .none
        isCompressed = false
        expectsContinue = false
    }

    fileprivate mutating func addSensitive(_ name: String) {
        if !sensitive.contains(where: { $0.isExactly(name) }) { sensitive.append(name) }
    }
}
