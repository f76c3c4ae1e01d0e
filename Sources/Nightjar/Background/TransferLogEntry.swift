import NightjarHTTP
import NightjarStorage

/// A line of the log of background transfers.
public struct TransferLogEntry: Sendable, Equatable {
    public enum Event: String, Sendable {
        /// A worker has started or continued the transfer.
        case started
        /// The transfer has failed temporarily, and is repeated.
        case waiting
        /// The transfer was paused, cancelled, or interrupted by its worker.
        case stopped
        case done
        /// The transfer has failed permanently.
        case failed
        /// The transfer may be complete. The response to a request that must not be repeated was lost.
        case inDoubt = "in_doubt"
        /// The program of `on_complete` was started.
        case program
    }

    public let time: Timestamp?
    /// The id of the transfer.
    public let id: String
    public let event: Event
    /// The reason, for people. Empty if there is none.
    public let message: String

    package init(time: Timestamp, id: String, event: Event, message: String) {
        (self.time, self.id, self.event, self.message) = (time, id, event, message)
    }

    /// Nil for a line of another version, and for a damaged one.
    init?(line: String) {
        guard let value = try? JSONValue(parsing: line), case .string(let id)? = value["id"],
            case .string(let name)? = value["event"], let event = Event(rawValue: name),
            case .string(let message)? = value["message"]
        else { return nil }
        switch value["time"] {
        case .number(let seconds)?: time = Timestamp(secondsSince1970: seconds)
        case .integer(let seconds)?: time = Timestamp(secondsSince1970: Double(seconds))
        default: time = nil
        }
        (self.id, self.event, self.message) = (id, event, message)
    }

    /// The entry as a JSON object.
    package var json: String {
        var members: [JSONValue.Member] = []
        if let time { members.append(.init("time", .number(time.secondsSince1970))) }
        members += [
            .init("id", .string(id)), .init("event", .string(event.rawValue)), .init("message", .string(message)),
        ]
        return (try? JSONValue.object(members).encoded()).map { String(buffer: $0) } ?? "{}"
    }
}
