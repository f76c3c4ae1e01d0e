import NIOCore
import NightjarHTTP

/// What carries requests to servers. The network is one; tests and users may put their own below the client.
///
/// Lives on the client's loop: every method is called there, and calls its receivers there.
public protocol HTTPTransport: AnyObject {
    /// Begins one exchange. The receiver hears of it later, or at once, before this returns; an exchange that nobody wants
    /// any more by then is cancelled.
    func begin(_ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver) -> any Exchange

    /// Closes every connection; what is in progress fails as `cancelled`. Nothing begins afterwards.
    func shutDown()
}

/// One attempt to get a request answered, as the one sees it who began it.
public protocol Exchange: AnyObject {
    /// Gives up: the receiver hears nothing more. Nothing happens when the exchange has ended, or again.
    func cancel()
    /// Stops reading, so that the peer is held back by flow control.
    func pause()
    func resume()
    /// The next part of a streamed request body, after `exchangeWantsBody`.
    func send(_ part: ByteBuffer)
    func endBody()
    /// Bytes that were sent and that the peer is not known to have received; for the idle timeout.
    var unsentBytes: Int { get }
    /// Bytes of the request's content that the connection has taken, those among ``unsentBytes`` included; for progress.
    var sentBytes: Int { get }
}

extension Exchange {
    /// For a transport that cannot tell.
    public var unsentBytes: Int { 0 }
    public var sentBytes: Int { 0 }
}

/// Who hears of an exchange: in this order, any number of `informational`, one `head`, any number of `body`, then
/// `finished`; or `failed` at any point, after which nothing more comes.
public protocol ExchangeReceiver: AnyObject {
    /// The request is being put on a connection, which has served another before or has not; again, and then the body from
    /// its beginning, when that proved to be no good before an answer came.
    func exchangeStarted(on connection: ConnectionRecord?, isReused: Bool)
    /// Something moved: for the idle timeout.
    func exchangeProgressed()
    func exchangeReceived(informational: ResponseHead)
    func exchangeReceived(head: consuming ResponseHead)
    func exchangeReceived(body: ByteBuffer)
    func exchangeFinished(trailers: Headers)
    func exchangeFailed(_ error: NightjarError)
    /// The connection can take up to about `maximum` bytes of the streamed body: `send` or `endBody` once.
    func exchangeWantsBody(maximum: Int)
}
