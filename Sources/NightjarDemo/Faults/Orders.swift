import NIOCore
import NIOHTTP1

/// `/v1/orders`: creates and counts orders, to test writes that must be neither lost nor duplicated. Used only on the
/// server's event loop.
///
/// With an Idempotency-Key, an order is created only once (draft-ietf-httpapi-idempotency-key-header), unless the key
/// has been dropped because there were too many later keys. Another request with the same key and body receives
/// the same response, or 409 while the first response is delayed by `delay`. A request with the same key and another
/// body receives 422.
///
/// `drop` is the probability that the connection is closed at one of the points of ``OrderDrop``. The result depends
/// only on `drop`, `seed` and the number of the request.
final class Orders: Resettable {
    private struct CreatedOrder {
        let id: Int
        let document: ByteBuffer
    }

    private struct RecordedOrder {
        /// The hash of the body.
        let body: [UInt8]
        let createdOrder: CreatedOrder
        /// The time until which the first response is delayed.
        let respondedAt: NIODeadline
    }

    /// Clients choose keys and bodies, so the oldest entries are dropped.
    private static let maximumKeys = 20_000
    private static let maximumBodies = 20_000
    private static let maximumOrders = 1000
    /// The largest body in bytes that the response contains. Responses are stored, so the response to a larger body
    /// contains only its length.
    private static let repeatLimit = 4096

    private let ledger: Ledger
    private var keys = BoundedTable<String, RecordedOrder>(capacity: Orders.maximumKeys)
    /// The responses by order identifier.
    private var orders = BoundedTable<Int, ByteBuffer>(capacity: Orders.maximumOrders)
    private var bodies = BoundedTable<[UInt8], Bool>(capacity: Orders.maximumBodies)
    private var created = 0
    private var requests = 0
    private var keyCount = 0
    private var repeatedBodies = 0

    init(ledger: Ledger) {
        self.ledger = ledger
    }

    func add(to router: inout Router) {
        router.stream(.POST, "/v1/orders", open)
        router.on(.DELETE, "/v1/orders", clear)
        router.on(.GET, "/v1/orders/count", count)
        router.on(.GET, "/v1/orders/{id}", read)
    }

    /// Removes all orders and resets the counters.
    func reset() {
        orders.removeAll()
        keys.removeAll()
        bodies.removeAll()
        (created, requests, keyCount, repeatedBodies) = (0, 0, 0, 0)
    }

    // MARK: Creation

    private func open(_ request: Request) throws(Problem) -> any BodySink {
        let probability = try OrderDrop.probability(request)
        let seed = try request.query("seed", in: 0...Int.max, or: 1)
        requests += 1
        ledger.note { $0.orders.requests += 1 }
        let drop = OrderDrop.roll(probability, seed: UInt64(seed), number: UInt64(requests))
        if drop != nil { ledger.note { $0.orders.dropped += 1 } }
        return OrderSink(request, drop, limit: Router.bodyLimit, create)
    }

    private func create(_ request: Request, _ drop: OrderDrop?) throws(Problem) -> Response {
        if drop == .beforeCreating { return .dropped }
        let document = try request.jsonObject()
        let key = try request.head.headers.idempotencyKey()
        let delay = try request.queryDuration("delay", atMost: 60, or: 0)
        let digest = Hash.sha256(Array(request.body.readableBytesView))
        if let key, let recorded = keys[key] { return try again(recorded, digest, drop) }

        let (id, size) = (insert(digest), request.body.readableBytes)
        let order: JSON = [
            "id": .int(id), "order": size <= Orders.repeatLimit ? document : .null, "body_bytes": .int(size),
            "created_at": .string(CalendarTime(seconds: CalendarTime.now()).timestamp),
        ]
        let createdOrder = CreatedOrder(id: id, document: ByteBuffer(bytes: order.formatted()))
        orders.set(createdOrder.document, for: id)
        if let key {
            keyCount += 1
            keys.set(RecordedOrder(body: digest, createdOrder: createdOrder, respondedAt: .now() + delay), for: key)
        }
        var response = Orders.response(createdOrder, drop)
        response.delay = delay
        return response
    }

    private func again(_ recorded: RecordedOrder, _ digest: [UInt8], _ drop: OrderDrop?) throws(Problem) -> Response {
        guard recorded.body == digest, recorded.respondedAt <= .now() else {
            ledger.note { $0.orders.conflicts += 1 }
            throw recorded.body == digest
                ? Problem(.conflict, "the first request with this Idempotency-Key is in progress")
                : Problem(.unprocessableEntity, "this Idempotency-Key was used with another body")
        }
        ledger.note { $0.orders.replayed += 1 }
        return Orders.response(recorded.createdOrder, drop)
    }

    private func insert(_ digest: [UInt8]) -> Int {
        created += 1
        ledger.note { $0.orders.created += 1 }
        if bodies[digest] != nil { repeatedBodies += 1 }
        bodies.set(true, for: digest)
        return created
    }

    private static func response(_ createdOrder: CreatedOrder, _ drop: OrderDrop?) -> Response {
        if drop == .beforeResponding { return .dropped }
        var response = Response(
            .created, headers: ["Content-Type": "application/json", "Location": "/v1/orders/\(createdOrder.id)"],
            body: .bytes(createdOrder.document))
        if drop == .insideResponse { OrderDrop.cut(&response) }
        return response
    }

    // MARK: Reading and counting

    /// Returns an order, unless it has been dropped because there were too many later orders.
    private func read(_ request: Request) throws(Problem) -> Response {
        let id = try request.id(of: "order")
        guard let document = orders[id] else { throw Problem.notFound("order", id) }
        return Response(.ok, headers: ["Content-Type": "application/json"], body: .bytes(document))
    }

    /// Returns the counts since the start or the last DELETE: orders, requests, keys, and orders whose body equals the
    /// body of an earlier order. If a client sends a different body for each order, the last count is the number of
    /// duplicates.
    private func count(_ request: Request) throws(Problem) -> Response {
        .json([
            "created": .int(created), "requests": .int(requests), "keys": .int(keyCount),
            "repeated_bodies": .int(repeatedBodies),
        ])
    }

    private func clear(_ request: Request) throws(Problem) -> Response {
        reset()
        return Response(.noContent)
    }
}
