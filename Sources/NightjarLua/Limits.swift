import CLua
import Nightjar
import NightjarHandles

// The state of a client's limits, for scripts.

@_cdecl("njl_client_limits") @implementation
public func njl_client_limits(_ client: OpaquePointer?) -> OpaquePointer? {
    let states = Handle<Client>.borrow(client)?.limitStates() ?? []
    let text = (try? JSONValue.array(states.map(\.json)).encoded()).map { String(buffer: $0) }
    return Handle.make(BorrowedText(text ?? "[]"))
}
