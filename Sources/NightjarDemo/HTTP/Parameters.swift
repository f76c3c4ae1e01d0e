import NIOCore
import NIOHTTP1

/// The parameters in a request body, which is a form or a JSON object. Durations and flags are not secret, so they may
/// also be in the query.
struct Parameters {
    private let request: Request
    private let form: [Target.QueryItem]
    private let document: JSON

    /// Reads the body, which may be empty. Throws 415 or 400 if the body is neither a form nor a JSON object.
    init(_ request: Request) throws(Problem) {
        self.request = request
        let type = request.head.headers.first(name: "content-type")?.prefix { $0 != ";" && $0 != " " }.lowercased()
        if request.body.readableBytes == 0 {
            (form, document) = ([], .null)
        } else if type == "application/x-www-form-urlencoded" {
            form = try Target.pairs(String(buffer: request.body)[...], of: "form")
            document = .null
        } else {
            form = []
            document = try request.jsonObject(types: ["application/json", "application/x-www-form-urlencoded"])
        }
    }

    /// Returns the first value with this name. JSON numbers and booleans are converted to text.
    subscript(_ name: String) -> String? {
        if let item = form.first(where: { $0.name == name }) { return item.value }
        switch document[name] {
        case .string(let text): return text
        case .integer(let number): return String(number)
        case .number(let number): return String(number)
        case .bool(let flag): return String(flag)
        case nil, .null, .array, .object: return nil
        }
    }

    func text(_ name: String) throws(Problem) -> String {
        guard let text = self[name], !text.isEmpty else { throw Parameters.fault(name, "is required") }
        return text
    }

    /// Returns a duration in seconds, or `fallback` if the parameter is missing.
    func seconds(_ name: String, atMost maximum: Double, or fallback: Double) throws(Problem) -> Double {
        guard let text = self[name] ?? request.query(name) else { return fallback }
        guard let seconds = Double(text), seconds >= 0, seconds <= maximum else {
            throw Parameters.fault(name, "must be a number of seconds between 0 and \(maximum)")
        }
        return seconds
    }

    func flag(_ name: String) throws(Problem) -> Bool {
        switch self[name] ?? request.query(name) {
        case nil, "false", "0": return false
        case "true", "1", "": return true
        default: throw Parameters.fault(name, "must be true or false")
        }
    }

    private static func fault(_ name: String, _ detail: String) -> Problem {
        Problem.invalid([Problem.Fault(place: .body(pointer: "/\(name)"), detail: detail)])
    }
}

extension JSON {
    /// Returns a number of seconds. Whole numbers up to 64 bits have no decimal point.
    static func seconds(_ seconds: Double) -> JSON {
        Int64(exactly: seconds).map(JSON.integer) ?? .number(seconds)
    }
}

extension HTTPHeaders {
    /// The Idempotency-Key of the request (draft-ietf-httpapi-idempotency-key-header).
    ///
    /// - Throws: 400 if the key is empty or longer than ``idempotencyKeyLimit``.
    func idempotencyKey() throws(Problem) -> String? {
        guard let key = first(name: "idempotency-key") else { return nil }
        guard (1...HTTPHeaders.idempotencyKeyLimit).contains(key.utf8.count) else {
            throw Problem(
                .badRequest, "an Idempotency-Key must have 1 to \(HTTPHeaders.idempotencyKeyLimit) characters")
        }
        return key
    }

    /// The maximum length of a key in bytes. It is limited because the server stores the keys.
    static let idempotencyKeyLimit = 256
}
