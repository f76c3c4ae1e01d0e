import NIOCore
import NightjarHTTP

/// Sends requests to servers. The network is one implementation; tests and programs may provide others.
///
/// Every method is called on the client's loop, and the receivers are called on that loop.
public protocol HTTPTransport: AnyObject {
    /// Begins one exchange. The receiver may be called later, or before this method returns. The caller cancels the
    /// returned exchange if it is no longer needed.
    func begin(_ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver) -> any Exchange

    /// Closes every connection. Exchanges in progress fail with `cancelled`. No exchange can begin after this call.
    func shutDown()
}

/// An exchange in progress, for the caller that began it.
public protocol Exchange: AnyObject {
    /// Cancels the exchange: the receiver is not called any more. Has no effect after the end.
    func cancel()
    /// Stops reading, so that flow control slows down the peer.
    func pause()
    func resume()
    /// Sends the next part of a streamed request body, after `exchangeNeedsBody`.
    func send(_ part: ByteBuffer)
    func endBody()
    /// Bytes that the peer is not known to have received, for the idle timeout.
    var unsentBytes: Int { get }
    /// Body bytes that the connection has accepted, including ``unsentBytes``, for progress.
    var sentBytes: Int { get }
}

extension Exchange {
    /// The defaults for a transport that does not count bytes.
    public var unsentBytes: Int { 0 }
    public var sentBytes: Int { 0 }
}

/// Receives the events of an exchange, in this order: any number of `informational`, one `head`, any number of `body`,
/// then `finished`; or `failed` at any point, which is the last event.
public protocol ExchangeReceiver: AnyObject {
    /// Called when the request is sent, on a new or a reused connection. Called again, with the body from its
    /// beginning, if a reused connection was lost before a response.
    func exchangeStarted(on connection: ConnectionRecord?, isReused: Bool)
    /// Some data was sent or received. Restarts the idle timeout.
    func exchangeProgressed()
    func exchangeReceived(informational: ResponseHead)
    func exchangeReceived(head: consuming ResponseHead)
    func exchangeReceived(body: ByteBuffer)
    func exchangeFinished(trailers: Headers)
    func exchangeFailed(_ error: NightjarError)
    /// Requests up to about `maximum` bytes of the streamed body. Call `send` or `endBody` once.
    func exchangeNeedsBody(maximum: Int)
}
