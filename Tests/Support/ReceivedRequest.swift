/// A request as received, parsed independently of the client.
public struct ReceivedRequest: Sendable, Equatable {
    public struct Field: Sendable, Equatable {
        public let name: String
        public let value: String
    }

    public let method: String
    public let target: String
    /// In the received order and case.
    public let headers: [Field]
    /// Without chunked framing.
    public internal(set) var body: [UInt8] = []
    /// Head and body, byte for byte.
    public internal(set) var raw: [UInt8]

    public var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// The value of the only field with that name; nil if there is none or more than one.
    public subscript(_ name: String) -> String? {
        let values = self.values(name)
        return values.count == 1 ? values[0] : nil
    }

    public func values(_ name: String) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// - Parameter head: Up to and including the empty line.
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
    /// CR LF is one Character in Swift, so this function uses scalars.
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
