/// Counts the bytes held for one user and enforces a limit. Thread-safe.
package protocol MemoryAccount: Sendable {
    /// Counts `bytes`. Returns false, and counts nothing, if the limit would be exceeded.
    func take(_ bytes: Int) -> Bool
    func release(_ bytes: Int)
}
