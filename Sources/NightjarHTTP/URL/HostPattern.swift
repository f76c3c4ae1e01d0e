/// A host name, an IP address, or `*.` and a domain, which matches all names with exactly one more label.
///
/// `*.example.com` matches `api.example.com`, but not `example.com` or `a.b.example.com`. This is the rule for
/// wildcards in certificates (RFC 9525 section 6.3).
public struct HostPattern: Hashable, Sendable, CustomStringConvertible {
    /// The name, or the domain after `*.`, in the form of ``Origin/host`` without a final dot.
    private let name: String
    private let isWildcard: Bool

    /// Throws `invalid_argument` if `text` is not a host name, an IP address, or a wildcard with a domain of at least
    /// two labels.
    public init(_ text: String) throws(NightjarError) { try self.init(text, allowsTopLevel: false) }

    /// - Parameter allowsTopLevel: Whether a wildcard may have a domain of one label, such as `*.internal`.
    init(_ text: String, allowsTopLevel: Bool) throws(NightjarError) {
        isWildcard = text.hasPrefix("*.")
        let name = isWildcard ? String(text.dropFirst(2)) : text
        do throws(NightjarError) {
            let canonical = try name.withRawBytes { bytes throws(NightjarError) in try HostSyntax.canonical(bytes) }
            self.name = canonical.hasSuffix(".") ? String(canonical.dropLast()) : canonical
        } catch {
            throw NightjarError(
                .invalidArgument,
                "the host pattern \(quoted(text)) is invalid: \(error.message); write a host name such as "
                    + "\"example.com\", or \"*.example.com\"")
        }
        guard !isWildcard || allowsTopLevel || self.name.utf8.contains(UInt8(ascii: ".")) else {
            throw NightjarError(
                .invalidArgument,
                "the host pattern \(quoted(text)) is too wide: after \"*.\", a domain with at least two labels is "
                    + "required")
        }
    }

    public var description: String { isWildcard ? "*.\(name)" : name }

    /// - Parameter host: In the form of ``Origin/host``.
    public func matches(_ host: String) -> Bool {
        let host = host.utf8.last == UInt8(ascii: ".") ? host.utf8.dropLast() : host.utf8[...]
        guard isWildcard else { return host.elementsEqual(name.utf8) }
        guard let dot = host.firstIndex(of: UInt8(ascii: ".")), dot > host.startIndex else { return false }
        return host[host.index(after: dot)...].elementsEqual(name.utf8)
    }

    /// Returns the most specific pattern of a host: its name, otherwise a wildcard. Nil if no pattern matches.
    public static func best<Patterns: Collection<HostPattern>>(_ patterns: Patterns, for host: String) -> HostPattern? {
        let matching = patterns.filter { $0.matches(host) }
        return matching.first { !$0.isWildcard } ?? matching.first
    }
}
