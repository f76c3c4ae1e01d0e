import NIOCore
import NightjarHTTP

/// Sends requests to servers. The network is one implementation; mocks, cassettes and network profiles are others.
///
/// All methods are called on the client's loop. The transport calls the receivers on the same loop.
public protocol HTTPTransport: AnyObject {
    /// Begins one exchange. The receiver may be called before this method returns. The caller cancels the returned
    /// exchange if it no longer needs the response.
    func begin(_ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver) -> any Exchange

    /// Closes every connection. The caller must not begin an exchange after this call.
    ///
    /// The caller must first cancel its exchanges. An exchange that waits for a connection may not be notified.
    func shutDown()
}

/// An exchange in progress, for the caller that began it.
public protocol Exchange: AnyObject {
    /// Cancels the exchange. The receiver is not called any more. Has no effect on an exchange that has ended.
    func cancel()
    /// Stops reading until ``resume()`` is called, so that flow control slows down the peer.
    func pause()
    func resume()
    /// Sends the next part of a streamed request body, after `exchangeNeedsBody`.
    func send(_ part: ByteBuffer)
    func endBody()
    /// The number of bytes that the peer has not acknowledged, for the idle timeout.
    var unsentBytes: Int { get }
    /// The number of body bytes that the connection has accepted, for progress reports.
    var sentBytes: Int { get }
}

extension Exchange {
    /// The defaults for a transport that does not count bytes.
    public var unsentBytes: Int { 0 }
    public var sentBytes: Int { 0 }
}

/// Receives the events of an exchange in this order: any number of `informational`, one `head`, any number of `body`,
/// then `finished`. Instead, `failed` may be called at any point as the last event.
public protocol ExchangeReceiver: AnyObject {
    /// Called when a step of opening the connection that the exchange waits for is complete. The exchange may still use
    /// another connection. Called only if ``TransportConfiguration/reportsSteps`` is true.
    func exchangeConnecting(_ step: ConnectionRecord.Step)
    /// Called when the connection that the exchange waits for is not opened to some addresses of its host.
    func exchangeDenied(_ addresses: AddressFilter.Denied)
    /// Called before the request is sent on a new or a reused connection. Called again if the request is repeated on
    /// another connection. The body is then sent from its beginning.
    ///
    /// - Parameter stream: The identifier of the HTTP/2 stream, or nil.
    func exchangeStarted(on connection: ConnectionRecord?, isReused: Bool, stream: Int32?)
    /// Called before the request is sent again because its connection was lost. The server may have processed it.
    func exchangeRepeated()
    /// Called to restart the idle timeout: data has arrived, or more of the request body can be written.
    func exchangeProgressed()
    func exchangeReceived(informational: ResponseHead)
    func exchangeReceived(head: consuming ResponseHead)
    func exchangeReceived(body: ByteBuffer)
    func exchangeFinished(trailers: Headers)
    func exchangeFailed(_ error: NightjarError)
    /// Called if the connection that the exchange waits for requires a decision. Several exchanges may receive
    /// the same challenge, also an exchange that begins to wait later.
    ///
    /// - Returns: Whether the receiver's client will decide. If no receiver does, the connection uses the default.
    func exchangeChallenged(_ challenge: ConnectionChallenge) -> Bool
    /// Called to request up to about `maximum` bytes of the streamed body. The receiver calls `send` or `endBody` once.
    func exchangeNeedsBody(maximum: Int)
}

extension ExchangeReceiver {
    /// The default for a receiver that does not report steps.
    public func exchangeConnecting(_ step: ConnectionRecord.Step) {}
    /// The default for a receiver that does not explain calls.
    public func exchangeDenied(_ addresses: AddressFilter.Denied) {}
}
