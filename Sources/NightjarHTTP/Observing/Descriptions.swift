// Descriptions for print, dump and debuggers. Credentials are masked as in logs.

extension Headers: CustomStringConvertible, CustomReflectable {
    /// The fields with masked credentials: `[Accept: */*, Authorization: Bearer ***]`.
    public var description: String {
        "[" + map { "\($0.name): \(Masking.value($0.value, ofField: $0.name, sensitive: []))" }.joined(separator: ", ")
            + "]"
    }

    public var customMirror: Mirror { Mirror(self, children: ["fields": description]) }
}

extension RequestURL: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: ["url": redacted]) }
}

extension Request: CustomStringConvertible, CustomReflectable {
    /// The method, target and fields with masked credentials: `POST /login [Accept: */*]`. Contains neither ``query``
    /// nor the body.
    public var description: String { "\(method) \(Masking.url(target)) \(headers)" }

    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension PreparedRequest: CustomStringConvertible, CustomReflectable {
    /// The method and redacted URL: `GET https://host/path?token=***`.
    public var description: String { "\(method) \(url)" }

    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
