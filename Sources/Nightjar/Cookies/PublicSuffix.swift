import CPSL

/// The names below which anybody may register one: com, co.uk, github.io. Debian's list, kept up by its updates.
enum PublicSuffix {
    /// - Parameter name: in lower case, without a final dot; xn-- forms as they are.
    @Sendable static func contains(_ name: String) -> Bool {
        psl_is_public_suffix(psl_builtin(), name) == 1
    }
}
