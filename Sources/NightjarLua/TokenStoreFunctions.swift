import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

// The functions of a script that load, save and delete the records of logins: the option token_store.

/// A request to load, save or delete a record.
private struct RecordDecision: HookDecision {
    let request: HostTokenStore.Request

    var name: StaticString { "token_store" }
    var kind: njl_callback_kind { NJL_RECORD }

    /// The record to save.
    var body: ByteBuffer? {
        guard case .save(let record) = request.operation else { return nil }
        return ByteBuffer(bytes: record)
    }

    var text: BorrowedText {
        let operation =
            switch request.operation {
            case .load: "load"
            case .save: "save"
            case .delete: "delete"
            }
        let table = JSONValue.object([.init("operation", .string(operation)), .init("key", .string(request.key))])
        return BorrowedText((try? table.encoded()).map { String(buffer: $0) } ?? "{}")
    }

    // The request rejects a response in a forked child, where no call waits for it.

    func decide(_ choice: njl_choice, _ text: njl_bytes) {
        switch choice {
        case NJL_CHOOSE_TABLE: load(text)
        case NJL_CHOOSE_CANCEL:
            try? request.fail(text.data == nil ? nil : String(decoding: text.buffer, as: UTF8.self))
        default: try? request.respond(nil)
        }
    }

    /// Responds with a loaded record. A record that is too large is not copied.
    private func load(_ record: njl_bytes) {
        let size = record.buffer.count
        guard size <= HostTokenStore.Request.largestRecord else {
            return fail("the record must have at most 1 MiB, got \(size) bytes")
        }
        try? request.respond(Array(record.buffer))
    }

    func fail(_ message: String) { try? request.fail(message) }
}

@_cdecl("njl_token_store_new") @implementation
public func njl_token_store_new(_ engine: OpaquePointer?, _ number: Int64) -> OpaquePointer? {
    guard let callbacks = Handle<Engine>.borrow(engine)?.callbacks else { return nil }
    let access = HostTokenStore.Access(endsOperationsWithClient: true) { request in
        callbacks.add(ScriptCallback(number, .hooked(RecordDecision(request: request))))
    }
    return Handle<HostTokenStore.Access>.make(access)
}

@_cdecl("njl_token_store_release") @implementation
public func njl_token_store_release(_ store: OpaquePointer?) { Handle<HostTokenStore.Access>.release(store) }
