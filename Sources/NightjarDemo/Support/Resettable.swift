/// State that clients change and that `/__control` can reset.
protocol Resettable: AnyObject {
    func reset()
}
