import NIOCore

/// A curl command line, for a POSIX shell, that sends the same request, apart from masked credentials.
///
/// The command disables the fields that curl adds by default (Accept, User-Agent, Content-Type, Expect) if the request
/// does not have them. It omits Content-Length and the default Host field, which curl generates.
public struct CurlCommand: Sendable {
    /// The command in one line, unless the body contains line breaks.
    public let text: String
    /// The data that the command reads from standard input (`--data-binary @-`): a binary body, or a body that is too
    /// large for a command line. Nil if the command does not read standard input, or if the body was not kept.
    public let standardInput: ByteBuffer?

    /// The maximum size in bytes of a body that is part of the command.
    private static let longestData = 4096

    /// - Parameters:
    ///   - showsSecrets: if false, credentials in the fields, the URL and the body are masked. ``standardInput`` is
    ///     never masked.
    ///   - sensitive: additional names of fields and query items that carry credentials.
    public init(_ request: RequestRecord, showsSecrets: Bool = false, sensitive: [String] = []) {
        var words = ["curl"]
        let body = Body(request, showsSecrets: showsSecrets, sensitive: sensitive + request.sensitive)
        words += CurlCommand.method(request.method, sendsData: body.sendsData)
        words += CurlCommand.url(request.url.hiding(sensitive), showsSecrets: showsSecrets)
        words += CurlCommand.fields(
            request, body, showsSecrets: showsSecrets, sensitive: sensitive + request.sensitive)
        words += body.words
        text = words.joined(separator: " ")
        standardInput = body.standardInput
    }

    /// The body arguments of the command.
    private struct Body {
        var words: [String] = []
        var standardInput: ByteBuffer?
        var sendsData: Bool { !words.isEmpty }

        init(_ request: RequestRecord, showsSecrets: Bool, sensitive: [String]) {
            switch request.body {
            case .none:
                // curl sends "Content-Length: 0" only if it is given empty data.
                if request.headers["Content-Length"] != nil { words = ["--data-raw", "''"] }
            case .omitted: words = ["--data-binary", "@-"]
            case .bytes(let bytes):
                let view = bytes.readableBytesView
                guard view.count <= CurlCommand.longestData, let text = String(validating: view, as: UTF8.self),
                    !text.utf8.contains(0)
                else {
                    words = ["--data-binary", "@-"]
                    standardInput = bytes
                    return
                }
                let type = request.headers["Content-Type"]
                let shown = showsSecrets ? text : Masking.content(text, type: type, sensitive: sensitive)
                words = ["--data-raw", ShellWord.quote(shown.utf8)]
            }
        }
    }

    private static func method(_ method: Method, sendsData: Bool) -> [String] {
        switch method {
        case .get where !sendsData, .post where sendsData: []
        // With -X HEAD, curl would wait for a body, which a HEAD response does not have.
        case .head where !sendsData: ["--head"]
        default: ["-X", isPlain(method.name) ? method.name : ShellWord.quote(method.name.utf8)]
        }
    }

    private static func isPlain(_ name: String) -> Bool {
        name.utf8.allSatisfy { ASCII.lowercase($0) &- UInt8(ascii: "a") < 26 || $0 == UInt8(ascii: "-") }
            && name.utf8.first != UInt8(ascii: "-")
    }

    private static func url(_ url: RequestURL, showsSecrets: Bool) -> [String] {
        var text = showsSecrets ? url.origin.description + url.target : url.redacted
        var words: [String] = []
        if let socket = url.origin.socket {
            words += ["--unix-socket", ShellWord.quote(socket.path.utf8)]
            text = "http://\(url.origin.hostField)" + text.dropFirst(url.origin.description.count)
        }
        // Without these options, curl expands brackets and braces, and resolves dot segments.
        if text.utf8.contains(where: { "[]{}".utf8.contains($0) }) { words.append("--globoff") }
        if url.path.contains("/.") || url.path.contains("/%2") { words.append("--path-as-is") }
        return words + [ShellWord.quote(text.utf8)]
    }

    private static func fields(
        _ request: RequestRecord, _ body: Body, showsSecrets: Bool, sensitive: [String]
    ) -> [String] {
        var words: [String] = []
        let headers = request.headers
        for index in 0..<headers.count {
            let (name, value) = (headers.name(at: index), headers.value(at: index))
            if ASCII.equalIgnoringCase(name.utf8, "content-length".utf8) { continue }
            if ASCII.equalIgnoringCase(name.utf8, "host".utf8), value == request.url.origin.hostField { continue }
            let shown: [UInt8]
            if showsSecrets {
                shown = headers.withBytes(at: index) { Array($1) }
            } else {
                let masked = Masking.value(value, ofField: name, sensitive: sensitive)
                // If nothing was masked, use the original bytes, which may not be UTF-8.
                shown = masked == value ? headers.withBytes(at: index) { Array($1) } : Array(masked.utf8)
            }
            // curl omits `Name:`. It sends an empty field for `Name;`.
            words += ["-H", ShellWord.quote(shown.isEmpty ? Array("\(name);".utf8) : Array("\(name): ".utf8) + shown)]
        }
        var own = ["User-Agent", "Accept"]
        if body.sendsData { own += ["Content-Type", "Expect"] }
        for name in own where headers.firstIndex(of: name) == nil { words += ["-H", "'\(name):'"] }
        if headers.firstIndex(of: "Accept-Encoding") != nil { words.append("--compressed") }
        return words
    }
}
