import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Testing

/// Faults of servers during and after the TLS handshake, provoked on real sockets.
@Suite struct TLSFaultTests {
    private func client(_ configure: (inout Configuration) -> Void = { _ in }) throws -> Client {
        var configuration = Configuration.loopback
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        configure(&configuration)
        return try Client(configuration)
    }

    private func error(_ script: [ScriptedPeer.Step], tls: PeerTLS? = PeerTLS()) throws -> NightjarError {
        let peer = try ScriptedPeer([script], repeatsLast: true, tls: tls)
        return try failure(client(), Request(.get, "https://localhost:\(peer.port)/"))
    }

    // MARK: The handshake

    /// The server ends the connection after each number of bytes, until it has sent the whole handshake.
    @Test(arguments: ["1.2", "1.3"], PeerTLS.Fault.Kind.allCases)
    func truncatedHandshakeFails(version: String, kind: PeerTLS.Fault.Kind) throws {
        let client = try client {
            guard kind == .stall else { return }
            $0.timeouts = Timeouts(connect: .milliseconds(150), idle: .milliseconds(150), total: .seconds(10))
        }
        var position = 0
        while true {
            let tls = PeerTLS(
                versions: PeerTLS.versions(version), fault: PeerTLS.Fault(kind, after: position))
            let peer = try ScriptedPeer([[.expectRequest, .respond()]], repeatsLast: true, tls: tls)
            do throws(NightjarError) {
                _ = try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/"))
                break
            } catch {
                check(error, kind, "\(version), \(kind) after \(position) bytes, port \(peer.port)")
            }
            position += kind == .stall ? 211 : position < 12 ? 1 : 23
        }
        #expect(position > 500, "the server's part of the handshake is longer")
    }

    private func check(_ error: NightjarError, _ kind: PeerTLS.Fault.Kind, _ place: String) {
        // In TLS 1.3, the client has sent its request before the server sends session tickets and the response.
        // With HTTP/2, the client writes while the server closes, and may notice the end by a failed write.
        if TestHTTP.isHTTP2, kind != .stall, error.kind == .connectionLost { return }
        let isOpen = error.phase == .send || error.phase == .receive || error.phase == .idle
        switch kind {
        case .close where isOpen:
            #expect(error.kind == .connectionLost, "\(place): \(error.message)")
            #expect(error.message.contains("close_notify"), "\(place): \(error.message)")
        case .close:
            #expect(error.kind == .tls, "\(place): \(error.message)")
            #expect(error.message.contains("closed the connection during the TLS handshake"), "\(error.message)")
        case .reset:
            #expect(error.kind == (isOpen ? .connectionLost : .connect), "\(place): \(error.message)")
            #expect(error.message.contains(isOpen ? "the connection was lost" : "the TLS handshake with localhost"))
            #expect(error.message.hasSuffix("Connection reset by peer"), "\(place): \(error.message)")
        case .stall:
            #expect(error.kind == .timeout, "\(place): \(error.message)")
        }
        #expect(error.requestMayHaveBeenProcessed == isOpen, "\(place): \(error.message)")
    }

    @Test(arguments: [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", "does not support TLS on this port; use http:// in its URL"),
        ("SSH-2.0-OpenSSH_9.2\r\n", "does not support TLS on this port; use http:// in its URL"),
        // A record of 65,535 bytes, and of 18,433 bytes.
        ("\u{16}\u{3}\u{3}\u{7f}\u{7f}", "ENCRYPTED_LENGTH_TOO_LONG"),
        // A fatal alert: handshake_failure.
        ("\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{28}", "the server sent the alert handshake_failure"),
        ("\u{15}\u{3}\u{3}\u{0}\u{2}\u{2}\u{46}", "the server supports none of the permitted TLS versions"),
        // close_notify.
        ("\u{15}\u{3}\u{3}\u{0}\u{2}\u{1}\u{0}", "failed: "),
        // A record of application data, and one of an unknown type.
        ("\u{17}\u{3}\u{3}\u{0}\u{1}a", "failed: "), ("\u{63}\u{3}\u{3}\u{0}\u{1}a", "failed: "),
    ])
    func invalidFirstBytesAreReported(bytes: Bytes, problem: String) throws {
        let error = try error([.expectBytes(5), .send(bytes), .expectClose], tls: nil)
        #expect(error.kind == .tls)
        #expect(error.message.contains(problem), "\(error.message)")
        #expect(!error.message.contains("no reason is known"), "\(error.message)")
    }

    /// Empty records are valid, but cost time. BoringSSL limits their number.
    @Test func endlessEmptyRecordsFail() throws {
        let records = Bytes(Array(repeatElement([0x16, 3, 3, 0, 0] as [UInt8], count: 1000).joined()))
        let error = try error([.expectBytes(5), .send(records), .expectClose], tls: nil)
        #expect(error.kind == .tls)
    }

    /// A ServerHello of TLS 1.2 that selects the protocol `h3`, which the client has not offered.
    @Test func protocolThatWasNotOfferedIsRejected() throws {
        let alpn: [UInt8] = [0, 16, 0, 5, 0, 3, 2] + Array("h3".utf8)
        let extensions: [UInt8] = [0xff, 1, 0, 1, 0, 0, 23, 0, 0] + alpn
        let body =
            [3, 3] + [UInt8](repeating: 7, count: 32) + [0, 0xc0, 0x2b, 0, 0, UInt8(extensions.count)] + extensions
        let message: [UInt8] = [2, 0, 0, UInt8(body.count)] + body
        let record: [UInt8] = [0x16, 3, 3, 0, UInt8(message.count)] + message
        let error = try error([.expectBytes(5), .send(Bytes(record)), .expectClose], tls: nil)
        #expect(error.kind == .tls)
        #expect(error.message.hasSuffix("INVALID_ALPN_PROTOCOL"), "\(error.message)")
    }

    // MARK: After the handshake

    @Test(arguments: [
        // Random bytes, a record with an invalid content, and a record that is too long.
        Bytes([UInt8](repeating: 0xa7, count: 100)), [0x17, 3, 3, 0, 32] + Bytes([UInt8](repeating: 1, count: 32)),
        [0x17, 3, 3, 0x7f, 0x7f],
    ])
    func garbageLosesTheConnection(bytes: Bytes) throws {
        for start in ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12"] as [Bytes] {
            let error = try error([.expectRequest, .send(start), .sendUnencrypted(bytes), .expectClose])
            #expect(error.kind == .connectionLost)
            #expect(error.requestMayHaveBeenProcessed)
            #expect(error.message.hasPrefix("the connection was lost: TLS with localhost:"), "\(error.message)")
            #expect(!error.message.contains("http://"))
        }
    }

    @Test func garbageAfterTheResponseClosesTheConnection() throws {
        let peer = try ScriptedPeer(
            [
                [.expectRequest, .respond(body: "1"), .sendUnencrypted("garbage"), .expectClose],
                [.expectRequest, .respond()],
            ],
            tls: PeerTLS())
        let client = try client()
        let url = "https://localhost:\(peer.port)/"
        #expect(try client.sendBlocking(Request(.get, url)).text == "1")
        try eventually("the client has closed the connection") { peer.endedCount == 1 }
        #expect(try client.sendBlocking(Request(.get, url)).status == 200)
        #expect(peer.connectionCount == 2)
    }

    @Test func closeNotifyInTheBodyTruncatesTheResponse() throws {
        let error = try error([.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"), .close])
        #expect(error.kind == .connectionLost)
        let place = TestHTTP.isHTTP2 ? "before the end of the response" : "5 bytes before the end of the response body"
        #expect(error.message == "the server closed the connection \(place)")
    }

    @Test func closeNotifyEndsABodyWithoutLength() throws {
        let peer = try ScriptedPeer([[.expectRequest, .send("HTTP/1.1 200 OK\r\n\r\nwhole"), .close]], tls: PeerTLS())
        #expect(try client().sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).text == "whole")
    }

    // MARK: Versions

    @Test func versionsMayDifferByHost() throws {
        let tls = PeerTLS(versions: PeerTLS.versions("1.2"))
        let peer = try ScriptedPeer([[.expectRequest, .respond()]], repeatsLast: true, tls: tls)
        let pattern = try TransportConfiguration.TLS.HostPattern("localhost")
        let client = try client { $0.transport.tls.versionsByHost[pattern] = .v1_3 ... .v1_3 }
        let error = try failure(client, Request(.get, "https://localhost:\(peer.port)/"))
        #expect(error.kind == .tls)
        #expect(error.message.hasSuffix("the server supports none of the permitted TLS versions"), "\(error.message)")
        let response = try client.sendBlocking(Request(.get, "https://127.0.0.1:\(peer.port)/"))
        #expect(response.tls?.version == "1.2")
    }

    // MARK: Proxies

    /// Two layers of TLS, with bodies that take many records in both directions.
    @Test func largeBodiesPassATunnelInsideTLS() throws {
        var random = SeededRandom(seed: 1)
        let (upload, download) = (random.bytes(700_000), random.bytes(900_000))
        let origin = try ScriptedPeer([[.expectRequest, .respond(body: Bytes(download))]], tls: PeerTLS())
        let proxy = try ScriptedPeer(
            [[.expectHead, .send("HTTP/1.1 200 OK\r\n\r\n"), .relay(to: origin.port)]], tls: PeerTLS())
        let address = try ProxyAddress("https://localhost:\(proxy.port)")
        let client = try client { $0.transport.proxy.source = .address(address) }
        var request = Request(.post, "https://localhost:\(origin.port)/")
        request.body = .bytes(ByteBuffer(bytes: upload))
        request.expectsContinue = false
        let response = try client.sendBlocking(request)
        #expect(response.text == String(decoding: download, as: UTF8.self))
        #expect(origin.requests.first?.body == upload)
        #expect(origin.handshake(0)?.failure == nil)
    }
}
