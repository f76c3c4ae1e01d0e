import CLua
import Nightjar
import NightjarHandles
import NightjarTesting

// The recording of a session's exchanges, which `.save test` turns into cassettes, and the progress of its calls.

@_cdecl("njl_session_begin") @implementation
public func njl_session_begin(_ engine: OpaquePointer?) {
    guard let engine = Handle<Engine>.borrow(engine), engine.recording == nil else { return }
    engine.recording = SessionRecording()
}

@_cdecl("njl_session_step") @implementation
public func njl_session_step(_ engine: OpaquePointer?, _ step: Int64) {
    Handle<Engine>.borrow(engine)?.recording?.begin(step: Int(clamping: step))
}

@_cdecl("njl_session_cassettes") @implementation
public func njl_session_cassettes(
    _ engine: OpaquePointer?, _ selection: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let recording = Handle<Engine>.borrow(engine)?.recording else {
            throw NightjarError(.invalidArgument, "no session is being recorded")
        }
        let selection = try JSONValue(parsing: selection.buffer)
        var steps: Set<Int> = []
        if case .array(let numbers)? = selection["steps"] {
            for case .integer(let number) in numbers { if let step = Int(exactly: number) { steps.insert(step) } }
        }
        let saved = recording.cassettes(
            of: steps, secrets: CassetteSecrets(additionalNames: selection.texts("names")),
            literals: selection.texts("secrets")
        )
        return Handle.make(BorrowedText(String(buffer: try saved.json().encoded())))
    }
}

@_cdecl("njl_session_progress") @implementation
public func njl_session_progress(_ engine: OpaquePointer?, _ state: UnsafeMutablePointer<njl_session_state>?) -> Bool {
    guard let engine = Handle<Engine>.borrow(engine), engine.followed.isChanged else { return false }
    let (sum, calls, time) = engine.followed.take()
    state?.pointee = njl_session_state(
        sent: Int64(sum.sent), sent_total: Int64(sum.sentTotal ?? -1), received: Int64(sum.received),
        received_total: Int64(sum.receivedTotal ?? -1), calls: calls, seconds: time.inSeconds)
    return true
}

@_cdecl("njl_session_pause_tracking") @implementation
public func njl_session_pause_tracking(_ engine: OpaquePointer?) {
    Handle<Engine>.borrow(engine)?.followed.pauseTracking()
}

extension JSONValue {
    /// Returns the strings in the list with this name.
    fileprivate func texts(_ name: String) -> [String] {
        guard case .array(let values)? = self[name] else { return [] }
        return values.compactMap { value in
            if case .string(let text) = value { text } else { nil }
        }
    }
}

extension SessionRecording.Saved {
    fileprivate func json() throws(NightjarError) -> JSONValue {
        var files: [JSONValue] = []
        for cassette in cassettes {
            files.append(
                .object([
                    .init("text", .string(String(buffer: try cassette.encoded()))),
                    .init("exchanges", .integer(Int64(cassette.exchanges.count))),
                ]))
        }
        return .object([
            .init("cassettes", .array(files)),
            .init(
                "names",
                .array(names.map { .array([.string($0.secret), .string($0.name), .bool($0.isEverywhere)]) })),
            .init("active", .array(active.map { .integer(Int64($0)) })),
            .init("losses", .array(losses.map { .array([.integer(Int64($0.step)), .string($0.reason)]) })),
        ])
    }
}
