/// The origins that calls on somebody else's behalf may ask: those of a stranger's script, which may not reach what only its
/// host can.
///
/// Immutable. A class, for a request carries it, and one is told from another by being the same.
package final class AllowedOrigins: Sendable {
    private let origins: Set<Origin>

    package init(_ origins: some Sequence<Origin>) { self.origins = Set(origins) }

    package func contains(_ origin: Origin) -> Bool { origins.contains(origin) }

    /// - Throws: `invalid_request`, naming the origin and those that are allowed.
    package func check(_ origin: Origin) throws(NightjarError) {
        if !contains(origin) { throw refusal(of: origin) }
    }

    package func refusal(of origin: Origin) -> NightjarError {
        let names = origins.map(\.description).sorted()
        let shown = names.prefix(AllowedOrigins.maximumShown).joined(separator: ", ")
        let rest = names.count > AllowedOrigins.maximumShown ? ", ..." : ""
        let allowed = names.isEmpty ? "it allows none" : "it allows \(shown)\(rest)"
        return NightjarError(
            .invalidRequest, "the script's host does not allow calls to \(origin); \(allowed)")
    }

    /// In a message.
    private static let maximumShown = 8
}
