import CLua
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarTransport

// Certificate pinning for scripts: reports of mismatches, and the mode.

extension Configuration {
    /// Passes the reports of pin mismatches to the script.
    ///
    /// - Parameter number: The number of the client.
    mutating func reportPinMismatches(to engine: Engine, _ number: Int64) {
        let callbacks = engine.callbacks
        reportPinMismatches(on: engine.queue) { report in
            callbacks.add(ScriptCallback(number, .pinMismatch(report.jsonText)))
        }
    }
}

extension Pinning.Report {
    fileprivate var jsonText: String {
        func list(_ pins: [Pinning.Pin]) -> JSONValue { .array(pins.map { .string($0.description) }) }
        let json = JSONValue.object([
            .init("host", .string(host)), .init("expected", list(expected)), .init("served", list(served)),
            .init("enforced", .bool(isEnforced)),
        ])
        return (try? json.encoded()).map { String(buffer: $0) } ?? "{}"
    }
}

@_cdecl("njl_client_set_pinning") @implementation
public func njl_client_set_pinning(
    _ client: OpaquePointer?, _ mode: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let client, let borrowed = Handle<Client>.borrow(client) else {
            throw NightjarError(.closed, "the client is closed")
        }
        try borrowed.setPinning(Pinning.Mode(named: try mode.text("the mode")))
        return client
    } != nil
}
