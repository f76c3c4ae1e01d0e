/// Accounts for bytes held on behalf of a user. Thread-safe.
package protocol MemoryAccount: Sendable {
    /// - Returns: false if the limit would be exceeded. The bytes are then not counted.
    func take(_ bytes: Int) -> Bool
    func release(_ bytes: Int)
}
