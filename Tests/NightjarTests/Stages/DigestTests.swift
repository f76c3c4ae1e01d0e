import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// A Digest server proves with `rspauth` that it has the password. RFC 7616 section 3.5.
@Suite struct DigestTests {
    /// A Digest server whose password may be wrong.
    private final class Server: HTTPTransport, Sendable {
        let requested = Mutex<[String?]>([])
        private let password: String

        init(password: String) { self.password = password }

        func begin(
            _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
        ) -> any Exchange {
            let response = request.fields["Authorization"]
            requested.withLock { $0.append(response) }
            receiver.exchangeStarted(on: nil, isReused: true, stream: nil)
            var headers = Headers()
            if let response, let sent = Challenge.parse([response]).first {
                try? headers.add("Authentication-Info", "qop=auth, rspauth=\"\(proof(of: sent))\"")
            } else {
                try? headers.add("WWW-Authenticate", "Digest realm=r, nonce=n, qop=\"auth\"")
            }
            receiver.exchangeReceived(
                head: ResponseHead(status: response == nil ? 401 : 200, reason: "", headers: headers, contentLength: 0))
            receiver.exchangeFinished(trailers: Headers())
            return ScriptedExchange(ScriptedTransport([]))
        }

        private func proof(of sent: Challenge) -> String {
            func digest(_ texts: String?...) -> String {
                let text = texts.compactMap { $0 }.joined(separator: ":")
                return Digest.md5(Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            }
            return digest(
                digest("u", "r", password), sent["nonce"], sent["nc"], sent["cnonce"], "auth", digest("", sent["uri"]))
        }

        func shutDown() {}
    }

    private func client(_ server: Server) throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        configuration.retry.base = .zero
        configuration.auth = .digest(user: "u", password: "p")
        return try Client(configuration) { _ in server }
    }

    @Test func serverWithAValidProofIsAccepted() throws {
        let server = Server(password: "p")
        let api = try client(server)
        for _ in 0..<3 { #expect(try api.sendBlocking(Request(.get, "/a")).status == 200) }
        #expect(server.requested.withLock { $0.count } == 4)
    }

    @Test(arguments: [Method.get, .put]) func serverWithoutAValidProofIsRejected(method: Method) throws {
        let server = Server(password: "another")
        let api = try client(server)
        let error = #expect(throws: NightjarError.self) { try api.sendBlocking(Request(method, "/a")) }
        #expect(error?.kind == .protocol)
        #expect(
            error?.message
                == "the server did not prove that it has the password: rspauth in Authentication-Info is invalid"
        )
        #expect(error?.requestMayHaveBeenProcessed == true)
        #expect(server.requested.withLock { $0.count } == 2)
    }
}
