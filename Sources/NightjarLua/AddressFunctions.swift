import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarTransport

// The functions of a script that resolve names and decide about addresses: the options resolver and on_addresses.

extension Configuration {
    /// Passes the names and the addresses of connections to the functions of the script.
    mutating func attachAddressFunctions(_ callbacks: ScriptCallbacks, of listener: njl_listener) {
        let number = listener.number
        func callback(_ name: StaticString, _ kind: njl_callback_kind) -> TransportConfiguration.AddressCallback {
            TransportConfiguration.AddressCallback(endingWithClient: { request in
                let decision = AddressDecision(request: request, name: name, kind: kind)
                callbacks.add(ScriptCallback(number, .hooked(decision)))
            })
        }
        if listener.resolves_names { resolver = callback("resolver", NJL_NAME) }
        if listener.decides_addresses { onAddresses = callback("on_addresses", NJL_ADDRESSES) }
    }
}

/// A decision about a name or the addresses of a host.
private struct AddressDecision: HookDecision {
    let request: TransportConfiguration.AddressRequest
    let name: StaticString
    let kind: njl_callback_kind

    var body: ByteBuffer? { nil }

    var text: BorrowedText {
        let table = JSONValue.object([
            .init("host", .string(request.host)),
            .init("port", .integer(Int64(request.port))),
            .init("proxy", .bool(request.isProxy)),
            .init("addresses", .array(request.addresses.map { .string($0.description) })),
        ])
        return BorrowedText((try? table.encoded()).map { String(buffer: $0) } ?? "{}")
    }

    // The request rejects a response in a forked child, where no call waits for it.

    func decide(_ choice: njl_choice, _ text: njl_bytes) {
        switch choice {
        case NJL_CHOOSE_TABLE:
            do throws(NightjarError) {
                try request.respond(try addresses(in: JSONValue(parsing: text.buffer)))
            } catch {
                fail("\(name): \(error.message)")
            }
        case NJL_CHOOSE_CANCEL:
            try? request.fail(text.data == nil ? nil : String(decoding: text.buffer, as: UTF8.self))
        case NJL_CHOOSE_DEFAULT: try? request.useDefault()
        default: fail("\(name): the response is unknown")
        }
    }

    func fail(_ message: String) { try? request.fail(inScript: message) }

    private func addresses(in list: JSONValue) throws(NightjarError) -> [IPAddress] {
        // An empty table is encoded as an object.
        if case .object(let members) = list, members.isEmpty { return [] }
        guard case .array(let items) = list else {
            throw NightjarError(.invalidArgument, "the table must be a list of addresses")
        }
        guard items.count <= TransportConfiguration.AddressRequest.maximumAddresses else {
            throw TransportConfiguration.AddressRequest.tooMany
        }
        var addresses: [IPAddress] = []
        for item in items {
            guard case .string(let text) = item else {
                throw NightjarError(.invalidArgument, "each address must be a string")
            }
            addresses.append(try IPAddress(text))
        }
        return addresses
    }
}
