import NightjarHTTP

// The results of transfers in the journal.

extension Download.File {
    var members: [JSONValue.Member] {
        [
            .init("path", .string(path)), .init("size", .integer(Int64(size))),
            .init("received", .integer(Int64(received))), .init("resumed", .integer(Int64(resumed))),
            .init("attempts", .integer(Int64(attempts))),
        ]
    }

    /// Members that are missing have their default values.
    init(_ value: JSONValue) {
        self.init()
        path = value.text(of: "path") ?? ""
        (size, received) = (value.count(of: "size"), value.count(of: "received"))
        (resumed, attempts) = (value.count(of: "resumed"), value.count(of: "attempts"))
    }
}

extension Upload.Result {
    /// The members without the response.
    var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = [
            .init("size", .integer(Int64(size))), .init("sent", .integer(Int64(sent))),
            .init("resumed", .integer(Int64(resumed))), .init("attempts", .integer(Int64(attempts))),
        ]
        if let url { members.append(.init("url", .string(url))) }
        return members
    }

    /// Members that are missing have their default values.
    init(_ value: JSONValue) {
        self.init()
        url = value.text(of: "url")
        (size, sent) = (value.count(of: "size"), value.count(of: "sent"))
        (resumed, attempts) = (value.count(of: "resumed"), value.count(of: "attempts"))
    }
}

extension NightjarError {
    /// The result of a transfer that has failed with this error.
    var transferResult: JSONValue {
        .object([.init("error_kind", .integer(Int64(kind.rawValue))), .init("message", .string(message))])
    }

    /// Nil if the transfer has not failed.
    init?(transferResult value: JSONValue) {
        guard let message = value.text(of: "message"),
            let kind = ErrorKind(rawValue: Int32(clamping: value.count(of: "error_kind")))
        else { return nil }
        self.init(kind, message)
    }
}

extension JSONValue {
    fileprivate func text(of name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    fileprivate func count(of name: String) -> Int {
        if case .integer(let number)? = self[name] { Int(clamping: number) } else { 0 }
    }
}
