/// A request that a peer received, parsed without code of the client.
public struct ReceivedRequest: Sendable, Equatable {
    public struct Field: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    public let method: String
    public let target: String
    /// The fields in the received order, with names in the received case.
    public let headers: [Field]
    /// The body without chunked framing.
    public internal(set) var body: [UInt8] = []
    /// The received bytes of the head and the body, including chunked framing.
    public internal(set) var raw: [UInt8]

    public var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// The value of the field `name`; nil if no field or more than one field has this name.
    public subscript(_ name: String) -> String? {
        let values = self.values(name)
        return values.count == 1 ? values[0] : nil
    }

    public func values(_ name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// Returns nil if `head` is invalid.
    ///
    /// - Parameter head: The bytes up to and including the empty line.
    init?(head: [UInt8]) {
        raw = head
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3 else { return nil }
        method = String(words[0])
        target = String(words[1])
        var headers: [Field] = []
        for line in lines.dropFirst() where !line.isEmpty {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers.append(Field(name: String(line[..<colon]), value: String(value)))
        }
        self.headers = headers
    }
}

extension String {
    /// Splits by Unicode scalars, because Swift treats CR LF as one Character.
    fileprivate func components(separatedBy separator: String) -> [String] {
        var parts: [String] = []
        var part = String.UnicodeScalarView()
        let mark = Array(separator.unicodeScalars)
        for scalar in unicodeScalars {
            part.append(scalar)
            if part.suffix(mark.count).elementsEqual(mark) {
                parts.append(String(part.dropLast(mark.count)))
                part = String.UnicodeScalarView()
            }
        }
        parts.append(String(part))
        return parts
    }
}
