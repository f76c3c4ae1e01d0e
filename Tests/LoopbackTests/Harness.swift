import NIOCore
import Nightjar
import NightjarTestSupport
import Testing

/// Returns a client of a scripted peer.
func client(of peer: ScriptedPeer, _ configure: (inout Configuration) -> Void = { _ in }) throws -> Client {
    try client(port: peer.port, configure)
}

func client(port: Int, _ configure: (inout Configuration) -> Void = { _ in }) throws -> Client {
    var configuration = Configuration.loopback
    configuration.baseURL = "http://127.0.0.1:\(port)"
    configure(&configuration)
    return try Client(configuration)
}

extension Configuration {
    /// A configuration for peers in this process, with short timeouts, without retries and proxies.
    static var loopback: Configuration {
        var configuration = Configuration()
        configuration.transport.proxy.source = .off
        configuration.timeouts = Timeouts(connect: .seconds(5), idle: .seconds(5), total: .seconds(10))
        configuration.retry.maximumAttempts = 1
        return configuration
    }
}

/// Returns the error of a call. If the call succeeds, the test fails.
func failure(_ client: Client, _ request: Request, location: SourceLocation = #_sourceLocation) throws -> NightjarError
{
    do throws(NightjarError) {
        let response = try client.sendBlocking(request)
        Issue.record("received \(response.status)", sourceLocation: location)
        throw NightjarError(.closed, "received a response")
    } catch {
        return error
    }
}

extension Request {
    init(_ method: Nightjar.Method, _ target: String, body: String) {
        self.init(method, target)
        self.body = .bytes(ByteBuffer(string: body))
    }
}
