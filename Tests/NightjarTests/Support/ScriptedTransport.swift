import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTransport
import Synchronization

/// A transport without a network. Each exchange plays the next script, and the log records the requests.
final class ScriptedTransport: HTTPTransport, @unchecked Sendable {
    enum Step {
        case head(Int, [(String, String)] = [])
        case body(String)
        case end
        case fail(ErrorKind)
    }

    struct Log {
        var heads: [String] = []
        var cancelled = 0
        var shutDowns = 0
        var pauses = 0
        var resumes = 0
    }

    let log = Mutex(Log())
    /// The connection that each exchange reports.
    var connection: ConnectionRecord?
    var isReused = false
    private var scripts: [[Step]]

    init(_ scripts: [[Step]]) {
        self.scripts = scripts
    }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        log.withLock { $0.heads.append(String(buffer: request.wireHead)) }
        let exchange = ScriptedExchange(self)
        guard !scripts.isEmpty else { return exchange }
        let script = scripts.removeFirst()
        receiver.exchangeStarted(on: connection, isReused: isReused, stream: nil)
        for step in script {
            if exchange.isCancelled { break }
            switch step {
            case .head(let status, let fields):
                var headers = Headers()
                for (name, value) in fields { try? headers.add(name, value) }
                receiver.exchangeReceived(head: ResponseHead(status: status, reason: "", headers: headers))
            case .body(let text):
                receiver.exchangeProgressed()
                receiver.exchangeReceived(body: ByteBuffer(string: text))
            case .end: receiver.exchangeFinished(trailers: Headers())
            case .fail(let kind): receiver.exchangeFailed(NightjarError(kind, "scripted"))
            }
        }
        return exchange
    }

    func shutDown() { log.withLock { $0.shutDowns += 1 } }
}

final class ScriptedExchange: Exchange {
    private let transport: ScriptedTransport
    private(set) var isCancelled = false

    init(_ transport: ScriptedTransport) { self.transport = transport }

    func cancel() {
        isCancelled = true
        transport.log.withLock { $0.cancelled += 1 }
    }
    func pause() { transport.log.withLock { $0.pauses += 1 } }
    func resume() { transport.log.withLock { $0.resumes += 1 } }
    func send(_ part: ByteBuffer) {}
    func endBody() {}
}

/// A client that receives scripted responses.
func client(
    _ transport: ScriptedTransport, _ configure: (inout Configuration) -> Void = { _ in }
) throws -> Client {
    var configuration = Configuration()
    configuration.baseURL = "http://api.test/v1"
    configuration.retry.maximumAttempts = 1
    configure(&configuration)
    return try Client(configuration, transport: { _ in transport })
}
