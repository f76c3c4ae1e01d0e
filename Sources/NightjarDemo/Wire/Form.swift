import NIOCore
import NIOHTTP1

/// `/form`: describes the form in a request, for any method. The response contains the fields of
/// `application/x-www-form-urlencoded`, or the parts of `multipart/form-data` with their names, file names, types,
/// sizes and checksums. Parts may have any length and are not stored.
enum Form {
    /// The largest urlencoded form, in bytes.
    private static let urlencodedLimit = 8 << 20

    static func open(_ request: Request) throws(Problem) -> any BodySink {
        let text = request.head.headers.first(name: "content-type") ?? ""
        let type = FieldParameters(text)
        switch type?.value.lowercased() {
        case "application/x-www-form-urlencoded":
            return UrlencodedForm(limit: urlencodedLimit)
        case "multipart/form-data":
            return MultipartForm(MultipartParser(boundary: try boundary(type)))
        default:
            let accepted = "application/x-www-form-urlencoded, multipart/form-data"
            let given = text.isEmpty ? "there is no Content-Type" : "\"\(text)\" is not supported"
            throw Problem(.unsupportedMediaType, "\(given); send \(accepted)", headers: ["Accept-Post": accepted])
        }
    }

    /// Returns the boundary of a multipart form (RFC 2046 section 5.1.1).
    static func boundary(_ type: FieldParameters?) throws(Problem) -> String {
        guard let boundary = type?["boundary"], (1...70).contains(boundary.utf8.count), boundary.last != " ",
            boundary.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else { throw Problem(.badRequest, "the Content-Type must have a boundary of 1 to 70 characters") }
        return boundary
    }
}

private final class UrlencodedForm: BodySink {
    private let limit: Int
    private var body = ByteBuffer()
    private var isTooLarge = false

    init(limit: Int) { self.limit = limit }

    func receive(_ bytes: ByteBuffer) -> TimeAmount {
        isTooLarge = isTooLarge || bytes.readableBytes > limit - body.readableBytes
        if !isTooLarge { body.writeImmutableBuffer(bytes) }
        return .zero
    }

    func finish(trailers: HTTPHeaders?) -> Response {
        do throws(Problem) {
            guard !isTooLarge else { throw Problem(.payloadTooLarge, "the form is larger than \(limit) bytes") }
            let fields = try Target.pairs(String(buffer: body)[...], of: "form")
            return .json([
                "type": "urlencoded",
                "fields": .array(fields.map { [.string($0.name), .string($0.value)] }),
                "body": .string(String(buffer: body)),
            ])
        } catch {
            return error.response
        }
    }
}

private final class MultipartForm: BodySink {
    private struct Part {
        let head: MultipartParser.Head
        var length = 0
        var checksum = CRC32()
        /// The beginning of the content.
        var preview: [UInt8] = []
    }

    /// The maximum number of bytes of a part's content in the response.
    private static let previewLimit = 256

    private var parser: MultipartParser
    private var parts: [Part] = []
    private var length = 0
    private var fault: MultipartParser.Fault?

    init(_ parser: MultipartParser) { self.parser = parser }

    func receive(_ bytes: ByteBuffer) -> TimeAmount {
        length += bytes.readableBytes
        guard fault == nil else { return .zero }
        do throws(MultipartParser.Fault) {
            try parser.parse(bytes.readableBytesView) { event in note(event) }
        } catch {
            fault = error
        }
        return .zero
    }

    private func note(_ event: MultipartParser.Event) {
        switch event {
        case .head(let head):
            parts.append(Part(head: head))
        case .content(let bytes):
            let index = parts.count - 1
            parts[index].length += bytes.count
            parts[index].checksum.update(ByteBuffer(bytes: bytes))
            parts[index].preview += bytes.prefix(MultipartForm.previewLimit - parts[index].preview.count)
        case .end:
            break
        }
    }

    func finish(trailers: HTTPHeaders?) -> Response {
        if let fault { return Problem(.badRequest, "the form is not multipart/form-data: \(fault.reason)").response }
        guard parser.isComplete else {
            return Problem(.badRequest, "the form is not multipart/form-data: its closing delimiter is missing")
                .response
        }
        return .json([
            "type": "multipart",
            "body_bytes": .int(length),
            "parts": .array(parts.map(json)),
        ])
    }

    private func json(_ part: Part) -> JSON {
        [
            "name": .string(part.head.name),
            "filename": .optional(part.head.filename),
            "content_type": .optional(part.head.contentType),
            "bytes": .int(part.length),
            "crc32": .string(part.checksum.text),
            "headers": .array(part.head.fields.map { [.string($0.name), .string($0.value)] }),
            // The beginning of the content, as text if it is UTF-8 and in base64 otherwise.
            "preview": Echo.body(part.preview),
            "preview_encoding": Echo.bodyEncoding(part.preview),
        ]
    }
}
