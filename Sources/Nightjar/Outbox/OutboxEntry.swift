import NIOCore
import NightjarHTTP
import NightjarStorage

extension Outbox {
    /// An entry of an outbox at the time of the call that returned it.
    public struct Entry: Sendable {
        public let id: String
        /// The entries of one key are sent in the order in which they were recorded.
        public let key: String
        public let method: Method
        /// The URL with masked credentials.
        public let url: String
        public let state: State
        /// The number of attempts that reached a server, since the entry was recorded, retried or resolved.
        public let attempts: Int
        /// The value of If-Match that is sent. Nil: none.
        public let ifMatch: String?
        /// The body that is sent.
        public let body: ByteBuffer
        /// The error of the last attempt. Nil if there is none.
        public let error: NightjarError?
        /// The response of an entry that is done, or that the server has rejected.
        package let response: OutboxVersion?
        /// The present version of the resource, of a conflict. Nil if it could not be fetched.
        package let theirs: OutboxVersion?
        public let created: Timestamp?
        public let updated: Timestamp?
    }
}

extension Outbox.Entry {
    /// - Throws: `invalid_argument` if another version has recorded the entry.
    init(_ entry: JournalEntry) throws(NightjarError) {
        let write = try OutboxWrite(bytes: entry.input)
        let record = try OutboxRecord(bytes: entry.state)
        (id, key, method) = (entry.id, entry.orderKey ?? "", write.method)
        url = (try? RequestURL(write.url))?.redacted ?? ""
        state = Outbox.State(entry, record)
        attempts = entry.attempts
        ifMatch = record.ifMatch
        body = ByteBuffer(bytes: record.revisedBody ?? write.body)
        let result = entry.result.flatMap { result in
            (try? JSONValue(parsing: String(decoding: result, as: UTF8.self))).flatMap { OutboxVersion(stored: $0) }
        }
        response = state == .parked ? record.lastResponse : result
        error = state == .done ? nil : record.error
        theirs = state == .conflict ? record.lastResponse : nil
        (created, updated) = (entry.created, entry.updated)
    }

    /// The status of the response of an entry that is done, or that the server has rejected.
    public var status: Int? { response?.status }
    /// The ETag of that response.
    public var etag: String? { response?.etag }
    /// The body of that response.
    public var responseBody: ByteBuffer? { response.map { ByteBuffer(bytes: $0.body) } }
    /// The status of the present version of the resource, of a conflict: 404 if it was deleted.
    public var theirStatus: Int? { theirs?.status }
    /// The ETag of the present version of the resource, of a conflict.
    public var theirETag: String? { theirs?.etag }
    /// The present version of the resource, of a conflict.
    public var theirBody: ByteBuffer? { theirs.map { ByteBuffer(bytes: $0.body) } }

    /// The entry as a JSON object, which has no members for unknown values.
    public var json: String {
        var members: [JSONValue.Member] = [
            .init("id", .string(id)), .init("key", .string(key)), .init("method", .string("\(method)")),
            .init("url", .string(url)), .init("state", .string(state.rawValue)),
            .init("attempts", .integer(Int64(attempts))),
        ]
        members.addText("if_match", ifMatch)
        if let error {
            var failure: [JSONValue.Member] = [
                .init("kind", .string(error.kind.name)), .init("message", .string(error.message)),
                .init("may_have_been_processed", .bool(error.requestMayHaveBeenProcessed)),
            ]
            if let status = error.status { failure.append(.init("status", .integer(Int64(status)))) }
            members.append(.init("error", .object(failure)))
        }
        if let response { members.append(.init("response", response.json)) }
        // The body that a person or a program needs for its decision.
        if state.isHeld {
            let mine = JSONValue.object(OutboxVersion.members(of: Array(body.readableBytesView)))
            members.append(.init("mine", mine))
            if let theirs { members.append(.init("theirs", theirs.json)) }
        }
        for case (let name, let time?) in [("created", created), ("updated", updated)] {
            members.append(.init(name, .number(time.secondsSince1970)))
        }
        return (try? JSONValue.object(members).encoded()).map { String(buffer: $0) } ?? "{}"
    }
}

extension OutboxState {
    init(_ entry: JournalEntry, _ record: OutboxRecord) {
        self =
            switch entry.phase {
            case .done: .done
            case .running: .sending
            case .pending where entry.isPaused: record.held ?? .parked
            case .pending: .pending
            // An outbox does not use these phases.
            case .failed, .cancelled, .inDoubt: .parked
            }
    }
}
