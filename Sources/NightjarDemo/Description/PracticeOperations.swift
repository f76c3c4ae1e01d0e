/// The operations on orders, and the resources that fail or respond late on request.
extension APIDescription {
    static let orders: [DescribedOperation] = [
        .init(.POST, "/v1/orders", "create_order", "Creates an order, once for each Idempotency-Key")
            .header(
                "Idempotency-Key", Schema.text(1...256), "Equal keys receive the same response.", example: "order-1"
            )
            .query("delay", Schema.number(0...60), "The delay of the response in seconds.")
            .query("drop", Schema.number(0...1), "The probability that the connection is closed.")
            .query("seed", Schema.integer(from: 0), "Equal seeds drop the same requests.")
            .takes(["type": "object"], example: ["item": "lamp", "count": .int(2)])
            .responds(Schema.reference("Order"), status: 201),
        .init(.GET, "/v1/orders/{id}", "get_order", "An order").responds(Schema.reference("Order")),
        .init(.GET, "/v1/orders/count", "count_orders", "The number of orders")
            .responds(
                Schema.object([
                    "created": Schema.integer(from: 0), "requests": Schema.integer(from: 0),
                    "keys": Schema.integer(from: 0), "repeated_bodies": Schema.integer(from: 0),
                ])),
        .init(.DELETE, "/v1/orders", "delete_orders", "Deletes all orders").respondsWithoutContent(),
    ]

    static let practice: [DescribedOperation] = [
        .init(.GET, "/v1/slow", "get_slow", "A delayed response")
            .query(
                "ms", ["type": "integer", "minimum": .int(0), "maximum": .int(60_000), "default": .int(200)],
                "Milliseconds."
            )
            .query("key", Schema.string, "Distinguishes requests in the statistics.")
            .responds(Schema.object(["ms": Schema.integer(0...60_000), "key": Schema.nullable(Schema.string)])),
        .init(.GET, "/v1/flaky", "get_flaky", "A response after some failures")
            .query(
                "key", Schema.text(1...256), "The key under which requests are counted.", example: "a", isRequired: true
            )
            .query(
                "times", Schema.integer(0...1_000_000), "The number of requests that fail. The default is 1.",
                example: .int(0)
            )
            .query("status", Schema.integer(400...599), "The status of failures. The default is 503.")
            .query("retry_after", Schema.number(0...86_400), "The seconds in Retry-After.")
            .query("retry_after_date", Schema.number(0...86_400), "Seconds from now, in Retry-After as a date.")
            .query("drop", Schema.choice("0", "1"), "1: requests fail without a response.")
            .responds(
                Schema.object([
                    "attempt": Schema.integer(from: 1), "key": Schema.string,
                    "idempotency_keys": Schema.list(of: Schema.nullable(Schema.string)),
                    "body_bytes": Schema.list(of: Schema.integer(from: 0)),
                ])),
        .init(.GET, "/v1/limited", "get_limited", "A rate-limited response")
            .query("limit", Schema.integer(0...1_000_000), "Requests per window. The default is 10.")
            .query("per", Schema.number(0...3600), "The length of a window in seconds. The default is 1.")
            .query("group", Schema.text(1...100), "The group in which requests are counted.", example: "default")
            .query(
                "fields", Schema.choice("draft8", "draft7", "x", "x-delta", "none"),
                "The rate limit fields of responses."
            )
            .query("retry_after", Schema.choice("seconds", "date", "none"), "The form of Retry-After.")
            .responds(Schema.object(["group": Schema.string, "count": Schema.integer(from: 1)])),
    ]
}
