/// The progress of a request whose connection was lost. It determines whether the request may be sent again.
struct ConnectionLoss {
    var wasReused: Bool
    var requestWasStarted: Bool
    var responseHasStarted: Bool
}
