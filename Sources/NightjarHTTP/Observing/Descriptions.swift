// Descriptions of values with credentials, for print, dump and debuggers. They are masked as in logs. Secrets are
// available only through the properties that hold them.

extension Headers: CustomStringConvertible, CustomReflectable {
    /// For example `[Accept: */*, Authorization: Bearer ***]`.
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
    /// For example `POST /login [Accept: */*]`. Contains neither the query nor the content.
    public var description: String { "\(method) \(Masking.url(target)) \(headers)" }

    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension PreparedRequest: CustomStringConvertible, CustomReflectable {
    /// For example `GET https://host/path?token=***`.
    public var description: String { "\(method) \(url)" }

    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
