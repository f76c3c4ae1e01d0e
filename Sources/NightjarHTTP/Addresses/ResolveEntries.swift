/// The addresses of hosts that a client uses instead of looking up their names, like curl's `--resolve`.
public struct ResolveEntries: Hashable, Sendable {
    private struct Key: Hashable {
        /// Without a final dot. Nil: any host.
        let host: String?
        let port: Int
    }

    private var addresses: [Key: [IPAddress]] = [:]

    /// Reads entries in the form of curl's `--resolve`:
    /// - `HOST:PORT:ADDRESS[,ADDRESS]...` sets the addresses of a host and a port. IPv6 addresses may be in brackets.
    /// - `*:PORT:ADDRESS[,ADDRESS]...` sets the addresses of all hosts that have no entry of their own for this port.
    /// - `-HOST:PORT` removes an earlier entry.
    ///
    /// An entry replaces an earlier one of the same host and port.
    ///
    /// - Throws: `invalid_argument` if an entry is invalid.
    public init(_ entries: [String]) throws(NightjarError) {
        for entry in entries { try add(entry) }
    }

    public init() {}

    public var isEmpty: Bool { addresses.isEmpty }

    /// Returns the addresses for a host and a port; nil: there is no entry, so the name is looked up.
    ///
    /// - Parameter host: In the form of ``Origin/host``.
    package func addresses(of host: String, port: Int) -> [IPAddress]? {
        if addresses.isEmpty { return nil }
        return addresses[Key(host: ResolveEntries.withoutFinalDot(host), port: port)]
            ?? addresses[Key(host: nil, port: port)]
    }

    private mutating func add(_ entry: String) throws(NightjarError) {
        let isRemoval = entry.utf8.first == UInt8(ascii: "-")
        let text = entry.utf8.dropFirst(isRemoval ? 1 : 0)
        // The host may be an IPv6 address in brackets.
        let bracket = text.first == UInt8(ascii: "[") ? text.firstIndex(of: UInt8(ascii: "]")) : nil
        guard let end = text[(bracket ?? text.startIndex)...].firstIndex(of: UInt8(ascii: ":")) else {
            throw ResolveEntries.invalid(entry, "the port is missing")
        }
        let rest = text[text.index(after: end)...]
        let portEnd = rest.firstIndex(of: UInt8(ascii: ":"))
        guard let port = Int(String(decoding: rest[..<(portEnd ?? rest.endIndex)], as: UTF8.self)), 1...65535 ~= port
        else { throw ResolveEntries.invalid(entry, "the port must be between 1 and 65535") }
        let key = Key(host: try ResolveEntries.host(text[..<end], entry), port: port)
        if isRemoval {
            guard portEnd == nil else {
                throw ResolveEntries.invalid(entry, "an entry that begins with \"-\" must not have an address")
            }
            addresses[key] = nil
            return
        }
        guard let portEnd else { throw ResolveEntries.invalid(entry, "the address is missing") }
        var found: [IPAddress] = []
        let list = rest[rest.index(after: portEnd)...]
        for text in list.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            guard let address = IPAddress(text: text) else {
                let written = quoted(String(decoding: text, as: UTF8.self))
                throw ResolveEntries.invalid(entry, "\(written) is not an IP address")
            }
            found.append(address)
        }
        addresses[key] = found
    }

    private static func host(_ text: Substring.UTF8View, _ entry: String) throws(NightjarError) -> String? {
        if text.elementsEqual("*".utf8) { return nil }
        do throws(NightjarError) {
            let host = try String(decoding: text, as: UTF8.self).withRawBytes { bytes throws(NightjarError) in
                try HostSyntax.canonical(bytes)
            }
            return withoutFinalDot(host)
        } catch {
            throw invalid(entry, error.message)
        }
    }

    private static func withoutFinalDot(_ host: String) -> String {
        host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
    }

    private static func invalid(_ entry: String, _ reason: String) -> NightjarError {
        NightjarError(
            .invalidArgument,
            "the resolve entry \(quoted(entry)) is invalid: \(reason); write HOST:PORT:ADDRESS, such as "
                + "\"example.com:443:127.0.0.1\"")
    }
}
