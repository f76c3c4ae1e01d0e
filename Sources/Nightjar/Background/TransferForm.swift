import NIOCore
import NightjarCrypto
import NightjarHTTP

/// The option `multipart` of a background upload: a list of `{name=, value=}`, `{name=, bytes_base64=}` and `{name=, file=}`,
/// each with `filename` and `content_type`; or an object with the names of the parts.
///
/// The boundary is derived from the parts and from the contents of the files. The same form therefore has the same bytes, and
/// a file cannot be made to contain the boundary.
struct TransferForm {
    /// The digest of the parts and of the contents of the files.
    let digest: [UInt8]
    private let description: [UInt8]
    private let form: MultipartForm

    var type: String { form.contentType }

    /// Reads the files.
    ///
    /// - Throws: `invalid_argument` for an invalid option; `invalid_request` for a name that a form cannot have, and if a
    ///   file cannot be read.
    init(_ value: JSONValue, _ path: String) throws(NightjarError) {
        let parts = try Draft.parts(value, path)
        description = Array(try value.encoded().readableBytesView)
        let digest = FormDigest(description)
        for case .file(let path, _) in parts.map(\.content) {
            digest.startFile()
            let file = try ContentFile(path)
            for start in stride(from: 0, to: try file.knownLength(), by: TransferForm.pieceSize) {
                let piece = try file.read(start..<min(start + TransferForm.pieceSize, file.length))
                piece.withUnsafeReadableBytes { digest.update($0) }
            }
        }
        self.digest = digest.finish()
        var numbers = DigestNumbers(seed: self.digest)
        form = try MultipartForm(parts, using: &numbers)
    }

    /// Writes the form.
    ///
    /// - Throws: `content_changed` if a file is not the one that was read before.
    func write(to write: ([UInt8]) throws(NightjarError) -> Void) throws(NightjarError) {
        let written = FormDigest(description)
        var pieces = form.makeBody()
        var file: ContentFile?
        while true {
            switch try pieces.next(maximum: TransferForm.pieceSize) {
            case .end:
                guard written.finish() == digest else {
                    throw NightjarError(
                        .contentChanged,
                        "a file of the option multipart was changed while it was copied; start the transfer again")
                }
                return
            case .bytes(let bytes):
                file = nil
                try write(Array(bytes.readableBytesView))
            case .file(let path, let range):
                let source: ContentFile
                if let file {
                    source = file
                } else {
                    source = try ContentFile(path)
                    written.startFile()
                }
                file = source
                // A file that grows is read up to its length at this time.
                let piece = try source.read(range.clamped(to: 0..<source.length))
                piece.withUnsafeReadableBytes { written.update($0) }
                if piece.readableBytes < range.count {
                    try pieces.fileEnded(at: range.lowerBound + piece.readableBytes)
                }
                try write(Array(piece.readableBytesView))
            }
        }
    }

    private static let pieceSize = 256 * 1024
}

/// The digest of the description of a form and of the contents of its files. Each file has a digest of its own, so that bytes
/// cannot move from one file to the next.
private final class FormDigest {
    private let whole = RunningDigest()
    private var file: RunningDigest?

    init(_ description: [UInt8]) { description.withUnsafeBytes { whole.update($0) } }

    /// Starts the next file.
    func startFile() {
        endFile()
        file = RunningDigest()
    }

    func update(_ bytes: UnsafeRawBufferPointer) { file?.update(bytes) }

    /// No other call may follow.
    func finish() -> [UInt8] {
        endFile()
        return whole.finish()
    }

    private func endFile() {
        file?.finish().withUnsafeBytes { whole.update($0) }
        file = nil
    }
}

/// Numbers that are derived from a digest.
private struct DigestNumbers: RandomNumberGenerator {
    private let seed: [UInt8]
    private var count: UInt8 = 0

    init(seed: [UInt8]) { self.seed = seed }

    mutating func next() -> UInt64 {
        count &+= 1
        return Digest.sha256(seed + [count]).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// A part that is being read.
private struct Draft {
    var name: String?
    var contents: [MultipartForm.Content] = []
    var filename: String?
    var contentType: String?

    static func parts(_ value: JSONValue, _ path: String) throws(NightjarError) -> [MultipartForm.Part] {
        var parts: [MultipartForm.Part] = []
        switch value {
        case .array(let items):
            for (index, item) in items.enumerated() {
                let place = "\(path)[\(index + 1)]"
                parts.append(try options.applied(item, at: place, to: Draft()).part(place))
            }
        case .object(let members):
            for member in members {
                let place = "\(path).\(member.name)"
                var draft = Draft()
                if case .object = member.value {
                    try options.apply(member.value, at: place, to: &draft)
                } else {
                    draft.contents = [.bytes(ByteBuffer(string: try member.value.formText(place)))]
                }
                if draft.name == nil { draft.name = member.name }
                parts.append(try draft.part(place))
            }
        default: throw .mismatch(path, expected: "a list of parts", value)
        }
        return parts
    }

    private func part(_ path: String) throws(NightjarError) -> MultipartForm.Part {
        guard let name else {
            throw NightjarError(.invalidArgument, "option \(quoted("\(path).name")) is missing: the name of the part")
        }
        guard contents.count == 1, let content = contents.first else {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) must have exactly one of value, bytes_base64 and file")
        }
        var part = MultipartForm.Part(name, content)
        if let filename { part.filename = filename }
        part.contentType = contentType
        return part
    }

    private static let options = OptionTable<Draft>([
        Option(name: "name") { value, path, draft throws(NightjarError) in draft.name = try value.text(path) },
        Option(name: "value") { value, path, draft throws(NightjarError) in
            draft.contents.append(.bytes(ByteBuffer(string: try value.formText(path))))
        },
        Option(name: "bytes_base64") { value, path, draft throws(NightjarError) in
            draft.contents.append(.bytes(try value.base64(path)))
        },
        Option(name: "file") { value, path, draft throws(NightjarError) in
            draft.contents.append(.file(path: try value.text(path), length: nil))
        },
        Option(name: "filename") { value, path, draft throws(NightjarError) in draft.filename = try value.text(path) },
        Option(name: "content_type") { value, path, draft throws(NightjarError) in
            draft.contentType = try value.text(path)
        },
    ])
}
