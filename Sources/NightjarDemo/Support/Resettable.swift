/// What clients change, and `/__control` can take back to how it was at the start.
protocol Resettable: AnyObject {
    func reset()
}
