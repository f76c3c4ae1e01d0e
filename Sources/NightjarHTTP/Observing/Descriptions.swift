// How values that hold credentials show themselves to print, dump and a debugger: as the log would say them. Whoever wants
// the secret asks for it by name.

extension Headers: CustomStringConvertible, CustomReflectable {
    /// `[Accept: */*, Authorization: Bearer ***]`
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
    /// `POST /login [Accept: */*]`: neither the query nor the content.
    public var description: String { "\(method) \(Masking.url(target)) \(headers)" }

    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension PreparedRequest: CustomStringConvertible, CustomReflectable {
    /// `GET https://host/path?token=***`
    public var description: String { "\(method) \(url)" }

    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
