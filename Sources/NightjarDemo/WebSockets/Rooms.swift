import NIOCore

/// The connections that receive the same messages. Used only on the server's event loop.
final class WebSocketRoom {
    /// The maximum number of members.
    static let capacity = 1000

    private var members: [ObjectIdentifier: Member] = [:]

    private struct Member {
        let session: WebSocketSession
        /// The number of unsent bytes from which the member is disconnected.
        let queueLimit: Int
    }

    var isEmpty: Bool { members.isEmpty }
    var isFull: Bool { members.count >= WebSocketRoom.capacity }

    func add(_ session: WebSocketSession, queueLimit: Int) {
        members[ObjectIdentifier(session)] = Member(session: session, queueLimit: queueLimit)
    }

    func remove(_ session: WebSocketSession) { members[ObjectIdentifier(session)] = nil }

    /// Sends a message to all members. Members that do not read fast enough are disconnected with 1013 instead.
    func post(_ message: WebSocketMessage) {
        for member in members.values {
            if member.session.unsentBytes > member.queueLimit {
                member.session.close(.tryAgainLater, "the client does not read fast enough")
            } else {
                member.session.send(message)
            }
        }
    }

    /// Reads the parameter `queue`: the number of unsent bytes from which the client is disconnected. The default is 1
    /// MiB.
    static func queueLimit(_ request: Request) throws(Problem) -> Int {
        try request.query("queue", in: 0...(16 << 20), or: 1 << 20)
    }
}

/// The rooms of `/ws/broadcast/{room}`. A room exists while it has members.
final class BroadcastRooms {
    private static let maximumRooms = 1000
    private static let maximumName = 256

    private var rooms: [String: WebSocketRoom] = [:]

    /// - Throws: 404 if the name is too long, 503 if there are too many rooms or members.
    func check(_ name: String) throws(Problem) {
        guard name.utf8.count <= BroadcastRooms.maximumName else {
            throw Problem(.notFound, "{room} must have at most \(BroadcastRooms.maximumName) bytes")
        }
        guard rooms[name]?.isFull ?? (rooms.count >= BroadcastRooms.maximumRooms) else { return }
        throw Problem(.serviceUnavailable, "the room is full, or there are too many rooms")
    }

    func join(_ name: String, _ session: WebSocketSession, queueLimit: Int) -> WebSocketRoom {
        let room = rooms[name] ?? WebSocketRoom()
        rooms[name] = room
        room.add(session, queueLimit: queueLimit)
        return room
    }

    func exit(_ name: String, _ session: WebSocketSession) {
        guard let room = rooms[name] else { return }
        room.remove(session)
        if room.isEmpty { rooms[name] = nil }
    }
}

/// `/ws/broadcast/{room}`: each message is sent to all members of the room, including the sender. `queue` is described
/// at ``WebSocketRoom/queueLimit(_:)``.
final class BroadcastEndpoint: WebSocketEndpoint {
    private let rooms: BroadcastRooms
    private let name: String
    private let queueLimit: Int
    private var room: WebSocketRoom?

    init(_ request: Request, _ rooms: BroadcastRooms) throws(Problem) {
        name = request.parameters["room"] ?? ""
        queueLimit = try WebSocketRoom.queueLimit(request)
        self.rooms = rooms
        try rooms.check(name)
    }

    func opened(_ session: WebSocketSession) { room = rooms.join(name, session, queueLimit: queueLimit) }

    func received(_ message: WebSocketMessage, _ session: WebSocketSession) { room?.post(message) }

    func closed(_ session: WebSocketSession) {
        rooms.exit(name, session)
        room = nil
    }
}
