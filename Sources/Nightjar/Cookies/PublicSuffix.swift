import CPSL

/// Public suffixes: names under which anybody may register a domain, such as com, co.uk and github.io. The list is part
/// of the system's libpsl.
enum PublicSuffix {
    /// - Parameter name: A domain name in lower case, without a trailing dot, with xn-- labels unchanged.
    @Sendable static func contains(_ name: String) -> Bool {
        psl_is_public_suffix(psl_builtin(), name) == 1
    }
}
