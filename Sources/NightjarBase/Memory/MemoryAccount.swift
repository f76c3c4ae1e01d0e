/// Counts the bytes held for one script and enforces its memory limit. Thread-safe.
package protocol MemoryAccount: Sendable {
    /// Counts `bytes`. If the limit would be exceeded, counts nothing and returns false.
    func take(_ bytes: Int) -> Bool
    func release(_ bytes: Int)
}
