/// Counts bytes that are held for somebody. Any thread.
package protocol MemoryAccount: Sendable {
    /// - Returns: false where so many more are beyond the limit; they are not counted then.
    func take(_ bytes: Int) -> Bool
    func give(_ bytes: Int)
}
