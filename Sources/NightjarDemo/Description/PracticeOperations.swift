/// The operations on orders, and the resources that fail or respond late on request.
extension APIDescription {
    static let orders: [DescribedOperation] = [
        .init(.POST, "/v1/orders", "create_order", "Orders something, once for each Idempotency-Key")
            .header(
                "Idempotency-Key", Schema.text(1...256), "The same key gets the same answer again.", example: "order-1"
            )
            .query("delay", Schema.number(0...60), "How many seconds the answer is held back.")
            .query("drop", Schema.number(0...1), "How likely the connection is dropped.")
            .query("seed", Schema.integer(from: 0), "The same seed drops the same requests.")
            .takes(["type": "object"], example: ["item": "lamp", "count": .int(2)])
            .answers(Schema.reference("Order"), status: 201),
        .init(.GET, "/v1/orders/{id}", "get_order", "An order").answers(Schema.reference("Order")),
        .init(.GET, "/v1/orders/count", "count_orders", "How many orders there are")
            .answers(
                Schema.object([
                    "created": Schema.integer(from: 0), "requests": Schema.integer(from: 0),
                    "keys": Schema.integer(from: 0), "repeated_bodies": Schema.integer(from: 0),
                ])),
        .init(.DELETE, "/v1/orders", "delete_orders", "Forgets all orders").answersNothing(),
    ]

    static let practice: [DescribedOperation] = [
        .init(.GET, "/v1/slow", "get_slow", "An answer that comes late")
            .query(
                "ms", ["type": "integer", "minimum": .int(0), "maximum": .int(60_000), "default": .int(200)],
                "Milliseconds."
            )
            .query("key", Schema.string, "Tells requests apart in what the server counts.")
            .answers(Schema.object(["ms": Schema.integer(0...60_000), "key": Schema.nullable(Schema.string)])),
        .init(.GET, "/v1/flaky", "get_flaky", "An answer that fails some times first")
            .query("key", Schema.text(1...256), "Requests are counted by it.", example: "a", isRequired: true)
            .query(
                "times", Schema.integer(0...1_000_000), "How many requests fail; 1 where it is not given.",
                example: .int(0)
            )
            .query("status", Schema.integer(400...599), "How they fail; 503 where it is not given.")
            .query("retry_after", Schema.number(0...86_400), "Seconds, in Retry-After.")
            .query("retry_after_date", Schema.number(0...86_400), "The same as a date.")
            .query("drop", Schema.choice("0", "1"), "1: they get no answer at all.")
            .answers(
                Schema.object([
                    "attempt": Schema.integer(from: 1), "key": Schema.string,
                    "idempotency_keys": Schema.list(of: Schema.nullable(Schema.string)),
                    "body_bytes": Schema.list(of: Schema.integer(from: 0)),
                ])),
        .init(.GET, "/v1/limited", "get_limited", "An answer that comes only so often")
            .query("limit", Schema.integer(0...1_000_000), "Requests in each window; 10 where it is not given.")
            .query("per", Schema.number(0...3600), "The length of a window in seconds; 1 where it is not given.")
            .query("group", Schema.text(1...100), "What is counted together.", example: "default")
            .query("fields", Schema.choice("draft8", "draft7", "x", "x-delta", "none"), "How answers tell the limit.")
            .query("retry_after", Schema.choice("seconds", "date", "none"), "The form of Retry-After.")
            .answers(Schema.object(["group": Schema.string, "count": Schema.integer(from: 1)])),
    ]
}
