import Foundation
import NightjarTransport
import Testing

/// A golden exchange: a script, the bytes that it must send, the bytes of the peer's response, and the script's result.
///
/// Each file in `exchanges/` contains one exchange. A line `--- name` begins a section:
///
///     --- lua         a script that returns the result; `api` is a client of the peer, `origin` the peer's origin
///     --- sent        the bytes that the peer must receive
///     --- response    the bytes that the peer sends; sent and response can be repeated on the same connection
///     --- closes      the peer closes the connection; the next `sent` is for a new connection
///     --- result      the return value of the script
///     --- curl        optional: the arguments, one per line, with which curl sends the same request
///
/// Lines end with CR LF on the wire. `{origin}` and `{authority}` stand for the origin and the authority of the peer.
/// `{any}` in `sent` stands for bytes that can vary. The comparison with curl ignores the fields `User-Agent`, `Accept`
/// and `Accept-Encoding`.
struct Exchange: CustomTestStringConvertible {
    struct Turn {
        var sent: String
        var response: String
    }

    var name: String
    var lua = ""
    /// The requests and responses of each connection.
    var connections: [[Turn]] = [[]]
    var result = ""
    var curl: [String]?

    var testDescription: String { name }

    init(file: URL) throws {
        name = file.deletingPathExtension().lastPathComponent
        var section = ""
        var lines: [String] = []
        func close() throws {
            let text = lines.joined(separator: "\n")
            switch section {
            case "": break
            case "lua": lua = text
            case "sent": connections[connections.count - 1].append(Turn(sent: text, response: ""))
            case "response":
                let turn = connections[connections.count - 1].count - 1
                connections[connections.count - 1][turn].response = text
            case "closes": connections.append([])
            case "result": result = text
            case "curl": curl = lines.filter { !$0.isEmpty }
            default: throw ExchangeError(message: "\(name): unknown section \(section)")
            }
            lines = []
        }
        for line in try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            if line.hasPrefix("--- ") {
                try close()
                section = String(line.dropFirst(4))
            } else {
                lines.append(String(line))
            }
        }
        if lines.last == "" { lines.removeLast() }
        try close()
    }

    static let all: [Exchange] = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("exchanges")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.sorted { $0.path < $1.path }.compactMap { try? Exchange(file: $0) }
    }()

    static var count: Int {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("exchanges")
        return (try? FileManager.default.contentsOfDirectory(atPath: folder.path).count) ?? 0
    }
}

struct ExchangeError: Error { let message: String }
