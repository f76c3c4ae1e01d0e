import NightjarStorage

extension Journal {
    /// Whether a transfer that is not done uses a content, or may use it.
    package func usesContent(_ path: String, id: String) -> Bool {
        do throws(JournalError) {
            guard let entry = try entry(id), entry.phase != .done else { return false }
            return (try? TransferDescription(bytes: entry.input))?.path.isExactly(path) ?? true
        } catch {
            return true
        }
    }
}
