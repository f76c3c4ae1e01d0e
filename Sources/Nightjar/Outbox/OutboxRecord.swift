import NIOCore
import NightjarBase
import NightjarHTTP
import NightjarStorage

/// The changing part of an outbox entry: the state of its journal entry.
struct OutboxRecord: Sendable {
    /// The idempotency key of the present version of the write.
    var idempotencyKey: String
    /// Whether the server may have processed the write with this key before the last decision of the program.
    var keyMayBeKnown = false
    /// The present value of If-Match. Nil: none.
    var ifMatch: String?
    /// The body that has replaced that of the write. Nil: there is none.
    var revisedBody: [UInt8]?
    /// The state of an entry that is held. Nil: the entry is not held.
    var held: OutboxState?
    /// The error of the last attempt.
    var error: NightjarError?
    /// The last response of an entry that is held: of a conflict, the present version of the resource.
    var lastResponse: OutboxVersion?
    var repeatedConflicts = 0
    /// The time of the program's last decision, in seconds since 1970. Nil: there was none.
    var decided: Double?

    /// The record of a new entry.
    init(_ write: OutboxWrite) {
        var random = SystemRandomNumberGenerator()
        idempotencyKey = write.key ?? IdempotencyKey(using: &random).text
        ifMatch = write.ifMatch
    }

    /// Keeps the key if the server may have processed the write with it. Otherwise replaces it, because servers repeat the
    /// responses to known keys.
    mutating func prepareToRetry() {
        keyMayBeKnown = keyMayBeKnown || error?.requestMayHaveBeenProcessed == true
        if !keyMayBeKnown { replaceKey() }
    }

    mutating func replaceKey() {
        keyMayBeKnown = false
        var random = SystemRandomNumberGenerator()
        idempotencyKey = IdempotencyKey(using: &random).text
    }

    // MARK: The journal

    var bytes: [UInt8] {
        get throws(NightjarError) {
            var members: [JSONValue.Member] = [.init("idempotency_key", .string(idempotencyKey))]
            if keyMayBeKnown { members.append(.init("key_may_be_known", .bool(true))) }
            members.addText("if_match", ifMatch)
            members.addText("body", revisedBody.map { Base64.encode($0) })
            members.addText("held", held?.rawValue)
            if let error {
                members.append(.init("error_kind", .integer(Int64(error.kind.rawValue))))
                members.append(.init("error", .string(error.message)))
                members.append(.init("may_have_been_processed", .bool(error.requestMayHaveBeenProcessed)))
            }
            if let status = error?.status { members.append(.init("error_status", .integer(Int64(status)))) }
            if let lastResponse { members.append(.init("response", lastResponse.stored)) }
            if repeatedConflicts > 0 {
                members.append(.init("repeated_conflicts", .integer(Int64(repeatedConflicts))))
            }
            if let decided { members.append(.init("decided", .number(decided))) }
            return Array(try JSONValue.object(members).encoded().readableBytesView)
        }
    }

    /// - Throws: `invalid_argument` if the record is damaged.
    init(bytes: [UInt8]) throws(NightjarError) {
        let value = try JSONValue(parsing: String(decoding: bytes, as: UTF8.self))
        guard let key = value.outboxText("idempotency_key") else {
            throw NightjarError(.invalidArgument, "the outbox entry is damaged; remove it")
        }
        (idempotencyKey, ifMatch) = (key, value.outboxText("if_match"))
        keyMayBeKnown = value["key_may_be_known"] == .bool(true)
        revisedBody = value.outboxBytes("body")
        held = value.outboxText("held").flatMap { OutboxState(rawValue: $0) }
        if let message = value.outboxText("error"),
            let kind = ErrorKind(rawValue: Int32(clamping: value.outboxCount("error_kind") ?? 0))
        {
            var facts = NightjarError.Facts(kind, message)
            facts.status = value.outboxCount("error_status")
            facts.requestMayHaveBeenProcessed = value["may_have_been_processed"] == .bool(true)
            error = NightjarError(facts)
        }
        lastResponse = value["response"].flatMap { OutboxVersion(stored: $0) }
        repeatedConflicts = value.outboxCount("repeated_conflicts") ?? 0
        decided = value["decided"].flatMap { try? $0.duration("decided").inSeconds }
    }
}

/// A stored response: the result of a write, or the present version of a resource.
package struct OutboxVersion: Sendable {
    package var status: Int
    package var etag, lastModified, location, type: String?
    package var body: [UInt8]
    /// Whether the body was too large to be stored.
    package var isBodyOmitted = false

    init(status: Int) { (self.status, body) = (status, []) }

    /// Only these fields are stored: others, such as Set-Cookie, may have secrets.
    init(_ response: Response) {
        status = response.status
        let headers = response.headers
        (etag, lastModified) = (headers["ETag"], headers["Last-Modified"])
        (location, type) = (headers["Location"], headers["Content-Type"])
        body = Array(response.body.readableBytesView)
    }

    var stored: JSONValue {
        var members = fields
        if isBodyOmitted { members.append(.init("body_omitted", .bool(true))) }
        members.append(.init("body", .string(Base64.encode(body))))
        return .object(members)
    }

    /// The members without the body.
    private var fields: [JSONValue.Member] {
        var members: [JSONValue.Member] = [.init("status", .integer(Int64(status)))]
        members.addText("etag", etag)
        members.addText("last_modified", lastModified)
        members.addText("location", location)
        members.addText("type", type)
        return members
    }

    init?(stored value: JSONValue) {
        guard let status = value.outboxCount("status"), let body = value.outboxBytes("body") else { return nil }
        (self.status, self.body) = (status, body)
        (etag, lastModified) = (value.outboxText("etag"), value.outboxText("last_modified"))
        (location, type) = (value.outboxText("location"), value.outboxText("type"))
        isBodyOmitted = value["body_omitted"] == .bool(true)
    }

    /// The version for programs.
    var json: JSONValue {
        var members = fields
        if isBodyOmitted { members.append(.init("body_omitted", .bool(true))) }
        members += OutboxVersion.members(of: body)
        return .object(members)
    }

    /// A body as a member: `json` if it is JSON, otherwise `body`, or `body_base64` if it is not text.
    static func members(of body: [UInt8]) -> [JSONValue.Member] {
        guard !body.isEmpty else { return [] }
        guard let text = String(validating: body, as: UTF8.self) else {
            return [.init("body_base64", .string(Base64.encode(body)))]
        }
        if let value = try? JSONValue(parsing: text) { return [.init("json", value)] }
        return [.init("body", .string(text))]
    }
}
