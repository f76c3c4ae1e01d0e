import Foundation
import NightjarDemo
import NightjarTestSupport

/// A demo server that runs until the test releases it.
final class Demo: Sendable {
    let server = DemoServer()
    let port: Int

    init() throws { port = try server.start() }

    deinit { server.stop() }

    /// Sends a request with curl, an independent client.
    func curl(_ path: String, _ arguments: [String] = [], input: Bytes = "") throws -> CurlResponse {
        let options = ["-s", "-S", "-i", "--max-time", "20", "--noproxy", "*"]
        let result = try run("curl", options + arguments + ["http://127.0.0.1:\(port)\(path)"], input: input)
        return try CurlResponse(result)
    }

    /// Returns curl's exit status. Status 52 means that the connection closed before the first byte.
    func curlStatus(_ path: String, _ arguments: [String] = []) throws -> Int32 {
        let options = ["-s", "--max-time", "20", "--noproxy", "*", "-o", "/dev/null"]
        return try run("curl", options + arguments + ["http://127.0.0.1:\(port)\(path)"]).status
    }

    /// Returns the last response after curl has followed redirects or responded to a challenge.
    func last(_ path: String, _ arguments: [String]) throws -> CurlResponse {
        let result = try run(
            "curl",
            ["-s", "-S", "-i", "--max-time", "20", "--noproxy", "*", "--max-redirs", "50"] + arguments + [
                "http://127.0.0.1:\(port)\(path)"
            ])
        return try CurlResponse(result, isLast: true)
    }

    func send(_ method: String, _ path: String, json: String, type: String = "application/json") throws -> CurlResponse
    {
        try curl(path, ["-X", method, "-H", "Content-Type: \(type)", "--data-binary", "@-"], input: Bytes(json.utf8))
    }

    /// Posts a form like an OAuth client.
    func form(_ path: String, _ fields: [String: String], _ arguments: [String] = []) throws -> CurlResponse {
        try curl(path, fields.flatMap { ["--data-urlencode", "\($0.key)=\($0.value)"] } + arguments)
    }

    /// Sends a request through a plain socket, for tests that send hundreds of requests. Starting curl takes longer.
    /// Foundation's Process also reads beyond a buffer at times, which crashes the tests (swift-corelibs-foundation, pull
    /// request 5472).
    ///
    /// - Parameter fields: Header fields, each with its line break.
    func fetch(_ path: String, method: String = "GET", _ fields: String = "") throws -> CurlResponse {
        let client = try connect()
        defer { client.close() }
        let head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n\(fields)\r\n"
        try client.send(Bytes(head.utf8))
        return try CurlResponse(client.receiveToEnd())
    }

    func control(_ json: String) throws -> CurlResponse { try send("POST", "/__control", json: json) }

    /// Sends a request through a plain socket, for a client that disconnects before the response.
    func begin(_ method: String, _ path: String, type: String, body: String, _ fields: String = "") throws
        -> NightjarTestSupport.Socket
    {
        let client = try connect()
        let head = """
            \(method) \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: \(type)\r\n\(fields)\
            Content-Length: \(body.utf8.count)\r\n\r\n
            """
        try client.send(Bytes((head + body).utf8))
        return client
    }

    func connect() throws -> NightjarTestSupport.Socket { try Socket(connectingTo: port) }
}

/// The output of `curl -i` or of a socket: any interim heads, then the final head and the body.
struct CurlResponse {
    let status: Int
    let interim: [Int]
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    init(_ result: ToolResult, isLast: Bool = false) throws {
        guard result.status == 0 else { throw ToolFailure(description: "curl: \(result.status) \(result.errors)") }
        try self.init(result.output, isLast: isLast)
    }

    init(_ output: [UInt8], isLast: Bool = false) throws {
        var rest = output[...]
        var interim: [Int] = []
        while true {
            let mark = Array("\r\n\r\n".utf8)
            guard let end = rest.indices.first(where: { rest[$0...].starts(with: mark) }) else {
                throw ToolFailure(description: "the response has no head")
            }
            let head = String(decoding: rest[..<end], as: UTF8.self)
            let lines = head.replacingOccurrences(of: "\r\n", with: "\n").split(separator: "\n")
            rest = rest[(end + 4)...]
            let words = lines[0].split(separator: " ")
            let status = words.count > 1 ? Int(words[1]) ?? 0 : 0
            if status < 200 {
                interim.append(status)
                continue
            }
            // The body of a redirect or a challenge precedes the next head. The demo's bodies contain no "HTTP/1.1 ".
            if isLast, (300..<400).contains(status) || status == 401,
                let next = rest.firstRange(of: Array("HTTP/1.1 ".utf8))
            {
                rest = rest[next.lowerBound...]
                continue
            }
            self.status = status
            self.interim = interim
            headers = lines.dropFirst().map { line in
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
            }
            body = Array(rest)
            return
        }
    }

    subscript(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as parsed by Foundation, which is independent of the server's JSON encoder.
    var json: [String: Any] {
        get throws {
            let document = try JSONSerialization.jsonObject(with: Data(body))
            guard let object = document as? [String: Any] else {
                throw ToolFailure(description: "not an object: \(text)")
            }
            return object
        }
    }

    /// The array at `results`.
    var results: [[String: Any]] {
        get throws { try json["results"] as? [[String: Any]] ?? [] }
    }
}
