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

/// The timeouts of tests in which Swift tasks wait. Tests that block can starve the threads of Swift tasks for minutes,
/// while peers and clients continue.
let longTimeout = Duration.seconds(900)

extension Timeouts {
    static let long = Timeouts(connect: longTimeout, idle: longTimeout, total: Timeouts.unlimited)
}

/// A peer for tests in which Swift tasks wait.
func longLivedPeer(_ connections: [[ScriptedPeer.Step]]) throws -> ScriptedPeer {
    try ScriptedPeer(connections, maximumWait: longTimeout)
}

/// A client for tests in which Swift tasks wait.
func longLivedClient(of peer: ScriptedPeer, _ configure: (inout Configuration) -> Void = { _ in }) throws -> Client {
    try client(of: peer) {
        $0.timeouts = .long
        $0.transport.idleConnectionLifetime = longTimeout
        configure(&$0)
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test over HTTP/2.
    ///
    /// - Parameter reason: The section of an RFC that excludes the feature.
    static func http1Only(_ reason: Comment) -> ConditionTrait { .disabled(if: TestHTTP.isHTTP2, reason) }
}

extension Configuration {
    /// A configuration for peers in this process, with short timeouts, without retries and proxies, and with the version of
    /// HTTP of the test run.
    static var loopback: Configuration {
        var configuration = Configuration()
        configuration.transport.proxy.source = .off
        configuration.timeouts = Timeouts(connect: .seconds(5), idle: .seconds(5), total: .seconds(10))
        configuration.retry.maximumAttempts = 1
        if TestHTTP.isHTTP2 { configuration.transport.versions = [.http2] }
        return configuration
    }

    /// Lets a server without ALPN choose HTTP/1.1.
    mutating func allowHTTP1() { transport.versions.insert(.http1_1) }
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
