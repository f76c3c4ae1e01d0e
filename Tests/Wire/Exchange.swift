import Foundation
import Testing

/// One golden exchange: what a call puts on the wire, what the peer answers, what the caller gets. A file of `exchanges/`,
/// whose sections begin with a line `--- name`:
///
///     --- lua         a script; `api` is a client of the peer, `origin` its origin; what it returns is the result
///     --- sent        what the peer has to receive
///     --- answer      what it then says; sent and answer may come again, on the same connection
///     --- closes      in place of the next `sent`: the peer closes, and the next comes on another connection
///     --- result      what the script returned
///     --- curl        the arguments, a line each, with which curl asks the same: compared apart from what names the client
///
/// Lines end in CR LF on the wire. `{origin}` and `{authority}` stand for the peer's, `{any}` in `sent` for what may differ.
struct Exchange: CustomTestStringConvertible {
    struct Turn {
        var sent: String
        var answer: String
    }

    var name: String
    var lua = ""
    /// One list a connection.
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
            case "sent": connections[connections.count - 1].append(Turn(sent: text, answer: ""))
            case "answer":
                let turn = connections[connections.count - 1].count - 1
                connections[connections.count - 1][turn].answer = text
            case "closes": connections.append([])
            case "result": result = text
            case "curl": curl = lines.filter { !$0.isEmpty }
            default: throw ExchangeError(message: "\(name): there is no section \(section)")
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
