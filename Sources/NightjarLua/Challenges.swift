import CLua
import Nightjar
import NightjarHandles

// Challenges of servers that a script decides.

extension Configuration {
    /// Passes challenges to the script.
    ///
    /// - Parameter number: The number of the client.
    mutating func decideChallenges(by callbacks: ScriptCallbacks, _ number: Int64) {
        onChallenge = Authentication.ChallengeHandler {
            callbacks.add(ScriptCallback(number, .challenge($0, text: $0.jsonText)))
        }
    }
}

@_cdecl("njl_callback_decide") @implementation
public func njl_callback_decide(_ callback: OpaquePointer?, _ choice: njl_choice, _ text: njl_bytes) {
    guard let callback = Handle<ScriptCallback>.borrow(callback) else { return }
    if case .hooked(let decision) = callback.subject { return callback.decide(decision, choice, text) }
    switch choice {
    case NJL_CHOOSE_TABLE:
        do throws(NightjarError) {
            callback.decide(
                try Authentication.Challenge.Response(option: JSONValue(parsing: text.buffer), "response"))
        } catch {
            callback.decide(.cancel("on_challenge: \(error.message)"))
        }
    case NJL_CHOOSE_CANCEL:
        callback.decide(.cancel(text.data == nil ? nil : String(decoding: text.buffer, as: UTF8.self)))
    default: callback.decide(.useDefault)
    }
}
