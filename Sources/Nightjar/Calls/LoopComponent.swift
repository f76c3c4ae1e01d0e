/// State that lives on a client's loop and may have work that must finish before the loop ends.
protocol LoopComponent: AnyObject {
    /// Called while the client is being closed, possibly several times. Abandons work that can be lost. Returns whether
    /// work that must not be lost is in progress.
    func mustFinish() -> Bool
    /// Called once, when the loop ends.
    func shutDown()
}
