/// State that clients change and `/__control` can reset.
protocol Resettable: AnyObject {
    func reset()
}
