import NIOCore

/// Requests made from others, for the stages of the chain: a cookie is added, a redirect is followed.
///
/// The head is read again from its bytes. That costs a microsecond, and only those calls that need it; keeping the fields
/// apart would cost every call.
extension PreparedRequest {
    /// The fields of the head, Host and framing among them.
    public var fields: Headers {
        wireHead.withUnsafeReadableBytes { bytes in
            // Behind the request line, before the empty one.
            guard let start = bytes.firstIndex(of: UInt8(ascii: "\n")), start + 1 <= bytes.count - 2 else {
                return Headers()
            }
            return Headers(written: UnsafeRawBufferPointer(rebasing: bytes[(start + 1)..<(bytes.count - 2)]))
        }
    }

    /// Whether there is a field of this name.
    public func hasField(_ name: String) -> Bool { fields.firstIndex(of: name) != nil }

    /// The same with one field of this name, in the place of all others of it; nil for none.
    ///
    /// - Throws: `invalid_request` when name or value breaks the grammar.
    public func setting(_ name: String, _ value: String?) throws(NightjarError) -> PreparedRequest {
        var fields = fields
        if let value { try fields.set(name, value) } else { fields.remove(name) }
        return PreparedRequest(
            method: method, url: url, body: body, isCompressed: isCompressed, expectsContinue: expectsContinue,
            fields: fields, sensitive: sensitive, ownCookies: ownCookies)
    }

    /// The same, where name and value are a caller's and may be anything.
    ///
    /// - Throws: `invalid_request` also for fields that frame the message, and for a Host that is none.
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
            guard let value else { throw NightjarError(.invalidRequest, "header \"Host\" cannot be removed") }
            try HostField.check(value)
        }
        let changed = try setting(name, value)
        let isCookie = text.withUTF8 { CookieField.isName(UnsafeRawBufferPointer($0)) }
        return isCookie ? changed.with(ownCookies: []) : changed
    }

    /// The same with a cookie of the call itself behind the others, shown to nobody.
    ///
    /// - Parameter cookie: `name=value`.
    /// - Throws: `invalid_request` when it breaks the grammar.
    public func adding(cookie: String) throws(NightjarError) -> PreparedRequest {
        let own = ownCookies + [cookie]
        return try setting("Cookie", own.joined(separator: "; ")).with(ownCookies: own)
    }

    private func with(ownCookies: [String]) -> PreparedRequest {
        PreparedRequest(
            method: method, url: url, body: body, isCompressed: isCompressed, expectsContinue: expectsContinue,
            wireHead: wireHead, sensitive: sensitive, ownCookies: ownCookies)
    }

    /// The same with a field behind the others, whose value is shown to nobody.
    ///
    /// - Throws: `invalid_request` when name or value breaks the grammar.
    public func addingSecret(field name: String, _ value: String) throws(NightjarError) -> PreparedRequest {
        var fields = fields
        try fields.add(name, value)
        return PreparedRequest(
            method: method, url: url, body: body, isCompressed: isCompressed, expectsContinue: expectsContinue,
            fields: fields, sensitive: sensitive.contains { $0.isExactly(name) } ? sensitive : sensitive + [name],
            ownCookies: ownCookies
        )
    }

    /// The same with a query item behind the others, whose value is shown to nobody.
    ///
    /// - Throws: `invalid_url` when the target becomes too long.
    public func addingSecret(query name: String, _ value: String) throws(NightjarError) -> PreparedRequest {
        var target = ByteBuffer(string: url.target + (url.query == nil ? "?" : "&"))
        PercentEncoding.writeComponent(name, into: &target)
        target.writeInteger(UInt8(ascii: "="))
        PercentEncoding.writeComponent(value, into: &target)
        try RequestTarget.checkLength(target.readableBytes)
        let longer = RequestURL(
            origin: url.origin, target: String(buffer: target), userInfo: url.userInfo, sensitive: url.sensitive)
        return PreparedRequest(
            method: method, url: longer.hiding([name]), body: body, isCompressed: isCompressed,
            expectsContinue: expectsContinue, fields: fields,
            sensitive: sensitive.contains { $0.isExactly(name) } ? sensitive : sensitive + [name],
            ownCookies: ownCookies)
    }

    /// The same where nobody may see what it brings.
    public var withoutBody: PreparedRequest {
        PreparedRequest(
            method: method, url: url, body: .none, isCompressed: false, expectsContinue: false, wireHead: wireHead,
            sensitive: sensitive, ownCookies: ownCookies)
    }

    /// The same without asking whether the body is wanted.
    public func withoutExpectation() -> PreparedRequest {
        var fields = fields
        fields.remove("Expect")
        return PreparedRequest(
            method: method, url: url, body: body, isCompressed: isCompressed, expectsContinue: false, fields: fields,
            sensitive: sensitive, ownCookies: ownCookies)
    }

    /// What a redirect asks for.
    ///
    /// - Parameters:
    ///   - sensitive: names of fields that go to no other origin, whatever `forwarded` has.
    ///   - forwarded: the fields that go along to another origin.
    public func following(
        _ hop: RedirectHop, sensitive: [String] = [], forwarded: ForwardedFields = .standard
    ) throws(NightjarError) -> PreparedRequest {
        var fields = fields
        // A Host that the caller chose is for the origin that was asked, like the credentials.
        let host = hop.dropsCredentials ? nil : fields["Host"]
        for name in ["Host", "Content-Length", "Transfer-Encoding", "Expect"] { fields.remove(name) }
        fields = hop.headers(from: fields, sensitive: sensitive, forwarded: forwarded)
        return try PreparedRequest(
            hop.method, hop.url, host: host ?? hop.url.origin.hostField, fields: fields,
            body: hop.keepsBody ? body : .none, isCompressed: hop.keepsBody && isCompressed,
            expectsContinue: hop.keepsBody && expectsContinue, sensitive: self.sensitive,
            ownCookies: hop.dropsCredentials ? [] : ownCookies)
    }

    private convenience init(
        _ method: Method, _ url: RequestURL, host: String, fields: Headers, body: RequestBody, isCompressed: Bool,
        expectsContinue: Bool, sensitive: [String], ownCookies: [String]
    ) throws(NightjarError) {
        var framing = ByteBuffer()
        try HeadWriter.writeFraming(
            body.framing(isCoded: isCompressed), method: method, expectsContinue: expectsContinue, into: &framing)
        var head = PreparedRequest.startLine(method, url)
        head.writeString("Host: \(host)\r\n")
        PreparedRequest.write(fields, into: &head)
        head.writeImmutableBuffer(framing)
        head.writeStaticString("\r\n")
        self.init(
            method: method, url: url, body: body, isCompressed: isCompressed, expectsContinue: expectsContinue,
            wireHead: head, sensitive: sensitive, ownCookies: ownCookies)
    }

    private convenience init(
        method: Method, url: RequestURL, body: RequestBody, isCompressed: Bool, expectsContinue: Bool, fields: Headers,
        sensitive: [String], ownCookies: [String]
    ) {
        var head = PreparedRequest.startLine(method, url)
        PreparedRequest.write(fields, into: &head)
        head.writeStaticString("\r\n")
        self.init(
            method: method, url: url, body: body, isCompressed: isCompressed, expectsContinue: expectsContinue,
            wireHead: head, sensitive: sensitive, ownCookies: ownCookies)
    }

    private static func startLine(_ method: Method, _ url: RequestURL) -> ByteBuffer {
        var head = ByteBuffer()
        head.writeString("\(method.name) \(url.target) HTTP/1.1\r\n")
        return head
    }

    private static func write(_ fields: Headers, into head: inout ByteBuffer) {
        for index in 0..<fields.count {
            fields.withBytes(at: index) { HeadWriter.writeField($0, $1, into: &head) }
        }
    }
}
