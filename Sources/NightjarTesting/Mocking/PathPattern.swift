import NightjarHTTP

/// The path of a route: a literal path, `/articles/{id}` for any one segment that is not empty, `/files/*.csv` for a
/// part of a segment, or `/static/**` for any number of segments. Compared segment by segment after percent-decoding.
package struct PathPattern: Sendable, Equatable, CustomStringConvertible {
    private enum Segment: Sendable, Equatable {
        /// The pieces between the asterisks of a segment. An asterisk matches any text. If there is no asterisk, the
        /// only piece must match exactly.
        case text([[UInt8]])
        case parameter(String)
        /// Any number of segments.
        case rest
    }

    package let description: String
    /// Set for an absolute pattern, which matches only this origin.
    private let origin: Origin?
    private let segments: [Segment]

    /// - Parameter text: a path that begins with a slash, or an absolute URL without a query.
    /// - Throws: `invalid_argument` if the text is neither, contains a query or is too long. `invalid_url` if the
    ///   origin of an absolute URL is invalid.
    package init(_ text: String) throws(NightjarError) {
        description = text
        var path = Substring(text)
        if text.utf8.first == UInt8(ascii: "/") {
            origin = nil
        } else {
            let (origin, rest) = try PathPattern.split(text)
            self.origin = origin
            path = rest
        }
        guard !path.utf8.contains(UInt8(ascii: "?")), path.utf8.count <= PathPattern.longest else {
            throw NightjarError(
                .invalidArgument,
                "the route path \(quoted(text)) contains a question mark or is longer than \(PathPattern.longest) "
                    + "bytes; put the query into \"query\"")
        }
        segments = PathPattern.pieces(path).map(PathPattern.segment)
    }

    private static func split(_ text: String) throws(NightjarError) -> (Origin, Substring) {
        guard let scheme = text.utf8.firstIndex(of: UInt8(ascii: ":")), text.utf8[scheme...].starts(with: "://".utf8)
        else {
            throw NightjarError(
                .invalidArgument, "the route path \(quoted(text)) must begin with a slash or be an absolute URL")
        }
        let rest = text.utf8[text.utf8.index(scheme, offsetBy: 3)...]
        let slash = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        return (try RequestURL(String(text[..<slash])).origin, slash == rest.endIndex ? "/" : text[slash...])
    }

    /// The maximum length of a pattern in bytes: the URI length that RFC 9110 section 4.1 recommends as a minimum.
    static let longest = 8000

    private static func pieces(_ path: Substring) -> [Substring.UTF8View] {
        path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }

    private static func segment(_ text: Substring.UTF8View) -> Segment {
        if text.elementsEqual("**".utf8) { return .rest }
        if text.count > 2, text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}") {
            return .parameter(String(Substring(text.dropFirst().dropLast())))
        }
        return .text(
            text.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(PercentEncoding.decoded))
    }

    /// Matches the path of a URL.
    ///
    /// - Parameter base: the client's base URL. An absolute pattern matches the whole path; any other pattern matches
    ///   the whole path, or the part after the base URL's path. A route can therefore have the same path as the call.
    /// - Returns: the values of the parameters. Nil if the path does not match.
    package func match(_ url: RequestURL, base: RequestURL?) -> [(name: String, value: String)]? {
        if let origin { return origin == url.origin ? match(url.path[...]) : nil }
        if let base, base.origin == url.origin {
            let prefix = base.path.utf8.last == UInt8(ascii: "/") ? base.path.utf8.dropLast() : base.path.utf8[...]
            let path = url.path
            if !prefix.isEmpty, path.utf8.starts(with: prefix),
                path.utf8.dropFirst(prefix.count).first == UInt8(ascii: "/"),
                let values = match(Substring(path.utf8.dropFirst(prefix.count)))
            {
                return values
            }
        }
        return match(url.path[...])
    }

    /// Matches a path. Backtracks only to the last `**`, because the shortest match of an earlier `**` is always
    /// sufficient.
    private func match(_ path: Substring) -> [(name: String, value: String)]? {
        let parts = PathPattern.pieces(path)
        var values: [(name: String, value: String)] = []
        var (at, part) = (0, 0)
        var anchor: (at: Int, part: Int, values: Int)?
        while part < parts.count {
            if at < segments.count {
                switch segments[at] {
                case .rest:
                    anchor = (at, part, values.count)
                    at += 1
                    continue
                case .parameter(let name) where !parts[part].isEmpty:
                    values.append((name, String(decoding: PercentEncoding.decoded(parts[part]), as: UTF8.self)))
                    (at, part) = (at + 1, part + 1)
                    continue
                case .text(let pieces) where PathPattern.matches(PercentEncoding.decoded(parts[part]), pieces):
                    (at, part) = (at + 1, part + 1)
                    continue
                case .parameter, .text: break
                }
            }
            guard let last = anchor else { return nil }
            anchor = (last.at, last.part + 1, last.values)
            values.removeSubrange(last.values...)
            (at, part) = (last.at + 1, last.part + 1)
        }
        return segments[at...].allSatisfy { $0 == .rest } ? values : nil
    }

    private static func matches(_ text: [UInt8], _ pieces: [[UInt8]]) -> Bool {
        guard pieces.count > 1, let first = pieces.first, let last = pieces.last else { return [text] == pieces }
        guard text.count >= first.count + last.count, text.starts(with: first), text.suffix(last.count) == last[...]
        else { return false }
        var rest = text.dropFirst(first.count).dropLast(last.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let start = rest.indices.first(where: { rest[$0...].starts(with: piece) }) else { return false }
            rest = rest[start...].dropFirst(piece.count)
        }
        return true
    }
}
