import NIOCore
import NightjarHTTP
import Testing

@testable import NightjarTesting

/// Secrets in bodies are scrubbed from cassettes.
@Suite struct SecretBodyTests {
    private static let multipart =
        "--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nada\r\n"
        + "--b\r\nContent-Disposition: form-data; filename=\"a;b\"; name=\"password\"\r\n\r\ns3cret-0\r\n"
        + "--b\r\ncontent-disposition: form-data; name=data\r\nContent-Type: application/json\r\n\r\n{\"pin_code\":1,\"otp\":\"s3cret-0\"}\r\n"
        + "--b--\r\n"

    private func scrubbed(_ body: ByteBuffer, _ type: String?) throws -> RecordedExchange {
        var headers = Headers()
        if let type { try headers.add("Content-Type", type) }
        var response = RecordedExchange.Response(status: 200)
        response.headers = headers
        response.body = RecordedBody(body)
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        return scrubber.scrub(
            RecordedExchange(
                .init(method: .post, url: "http://x/", headers: headers, body: RecordedBody(body)), response))
    }

    @Test func cassettesContainNoSecretsOfBodies() throws {
        let xml = "<a><Password>s3cret-0</Password></a>"
        let lines = "{\"pass\\u0077ord\":\"s3cret-0\"}\n{\"otp\":\"s3cret-0\",\"credentials\":{\"x\":[\"s3cret-0\"]}}\n"
        let bodies: [(String, String?)] = [
            (Self.multipart, "multipart/form-data; boundary=b"), (xml, "application/xml"), (xml, nil),
            (lines, "application/x-ndjson"), (lines, nil), ("a=1&otp=s3cret-0", nil),
            ("{\"log\":\"{\\\"token\\\":\\\"s3cret-0\\\"}\"}", "application/json"),
        ]
        for (body, type) in bodies {
            let exchange = try scrubbed(ByteBuffer(string: body), type)
            let text = String(buffer: try Cassette([exchange]).encoded())
            #expect(!text.contains("s3cret"), "\(text)")
            #expect(text.contains("scrubbed-1"))
        }
        var bytes = Array(Self.multipart.utf8)
        bytes.insert(contentsOf: [0xFF, 0xFE], at: bytes.count - 7)
        let exchange = try scrubbed(ByteBuffer(bytes: bytes), "multipart/form-data; boundary=b")
        #expect(!String(decoding: exchange.request.body.bytes.readableBytesView, as: UTF8.self).contains("s3cret"))
    }
}
