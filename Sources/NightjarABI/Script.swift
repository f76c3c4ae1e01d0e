import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarLua
import NightjarSystem
import NightjarTransport
import Synchronization

/// The settings of a script, which must be set before its first use.
struct ScriptSettings {
    var isSandboxed = false
    var limits = ScriptLimits()
    var allowedOrigins: [String] = []
    var pathScope: String?
}

/// A script that C configures step by step. The interpreter is created on first use.
final class ScriptBox: Sendable {
    private struct State {
        var settings = ScriptSettings()
        var script: Script?
    }

    private let client: Client?

    private let state = Mutex(State())
    private let birth = Fork.generation

    init(client: Client?) { self.client = client }

    /// Nil before the script is used, and in a forked child.
    var script: Script? { Fork.hasForked(since: birth) ? nil : state.withLock { $0.script } }

    /// - Throws: `forked` in a forked child, where the interpreter's threads do not exist.
    private func checkProcess() throws(NightjarError) {
        guard !Fork.hasForked(since: birth) else {
            throw NightjarError(.forked, "this script belongs to the parent process; create a script after fork")
        }
    }

    func change(_ body: (inout ScriptSettings) throws(NightjarError) -> Void)
        throws(NightjarError)
    {
        try checkProcess()
        let result: Result<Void, NightjarError> = state.withLock { state in
            guard state.script == nil else {
                return .failure(
                    NightjarError(
                        .invalidArgument,
                        "the script has been used; change its settings before you run it, set a global or register a function"
                    ))
            }
            do throws(NightjarError) {
                try body(&state.settings)
            } catch {
                return .failure(error)
            }
            return .success(())
        }
        try result.get()
    }

    func prepared() throws(NightjarError) -> Script {
        try checkProcess()
        let result: Result<Script, NightjarError> = state.withLock { state in
            if let script = state.script { return .success(script) }
            do throws(NightjarError) {
                let settings = state.settings
                let script = try Script(
                    client: client, sandboxed: settings.isSandboxed, limits: settings.limits,
                    allowedOrigins: settings.allowedOrigins, pathScope: settings.pathScope)
                state.script = script
                return .success(script)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

private func change(
    _ script: OpaquePointer?,
    _ body: (inout ScriptSettings) throws(NightjarError) -> Void
) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<ScriptBox>.borrow(script), "script").change(body)
    }
}

/// Runs `body` with the interpreter and converts an error to a status and an error handle.
func use(
    _ script: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?,
    _ body: (Script) throws(NightjarError) -> Void
) -> nj_status {
    outError?.pointee = nil
    do throws(NightjarError) {
        try body(required(Handle<ScriptBox>.borrow(script), "script").prepared())
        return NJ_OK
    } catch {
        outError?.pointee = Handle.make(ErrorBox(error))
        return nj_status(error.kind)
    }
}

@_cdecl("nj_script_new") @implementation
public func nj_script_new(_ client: OpaquePointer?) -> OpaquePointer! {
    HostSignals.keepSIGPIPE()
    return Handle.make(ScriptBox(client: Handle<Client>.borrow(client)))
}

@_cdecl("nj_script_free") @implementation
public func nj_script_free(_ script: OpaquePointer?) {
    Handle<ScriptBox>.take(script)?.script?.cancelStartedRun()
}

@_cdecl("nj_script_set_sandboxed") @implementation
public func nj_script_set_sandboxed(_ script: OpaquePointer?, _ sandboxed: Bool) -> nj_status {
    change(script) { settings throws(NightjarError) in settings.isSandboxed = sandboxed }
}

@_cdecl("nj_script_set_memory_limit") @implementation
public func nj_script_set_memory_limit(_ script: OpaquePointer?, _ bytes: Int) -> nj_status {
    change(script) { settings throws(NightjarError) in settings.limits.memory = bytes == 0 ? nil : clampedSize(bytes) }
}

@_cdecl("nj_script_set_instruction_limit") @implementation
public func nj_script_set_instruction_limit(_ script: OpaquePointer?, _ count: Int) -> nj_status {
    change(script) { settings throws(NightjarError) in
        settings.limits.instructions = count == 0 ? nil : UInt64(UInt(bitPattern: count))
    }
}

@_cdecl("nj_script_set_burst_limit") @implementation
public func nj_script_set_burst_limit(_ script: OpaquePointer?, _ count: Int) -> nj_status {
    change(script) { settings throws(NightjarError) in
        settings.limits.burst = count == 0 ? nil : UInt64(UInt(bitPattern: count))
    }
}

@_cdecl("nj_script_allow_origin") @implementation
public func nj_script_allow_origin(_ script: OpaquePointer?, _ url: UnsafePointer<CChar>?) -> nj_status {
    change(script) { settings throws(NightjarError) in
        let url = try required(text(url), "url")
        _ = try RequestURL(url)
        guard settings.allowedOrigins.count < largestAllowance else {
            throw NightjarError(.invalidArgument, "a script can have at most \(largestAllowance) allowed origins")
        }
        settings.allowedOrigins.append(url)
    }
}

@_cdecl("nj_script_set_path_scope") @implementation
public func nj_script_set_path_scope(_ script: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> nj_status {
    change(script) { settings throws(NightjarError) in
        settings.pathScope = try PathScope(required(text(path), "path")).text
    }
}

/// The maximum number of origins that nj_script_allow_origin can add.
private let largestAllowance = 10_000

@_cdecl("nj_script_set_time_limit") @implementation
public func nj_script_set_time_limit(_ script: OpaquePointer?, _ seconds: Double) -> nj_status {
    change(script) { settings throws(NightjarError) in settings.limits.time = try limit(seconds) }
}

@_cdecl("nj_script_interrupt") @implementation
public func nj_script_interrupt(_ script: OpaquePointer?) {
    Handle<ScriptBox>.borrow(script)?.script?.interrupt()
}

// MARK: Functions and globals

@_cdecl("nj_script_register") @implementation
public func nj_script_register(
    _ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ function: nj_script_fn?,
    _ context: UnsafeMutableRawPointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    use(script, outError) { script throws(NightjarError) in
        let function = try required(function, "function")
        let context = CallbackContext(pointer: context)
        try script.register(required(text(name), "name")) { function(context.pointer, Handle.lend($0)) }
    }
}

private func set(_ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: ScriptValue) -> nj_status {
    setting { () throws(NightjarError) in
        let script = try required(Handle<ScriptBox>.borrow(script), "script").prepared()
        try script.setGlobal(required(text(name), "name"), value)
    }
}

@_cdecl("nj_script_set_boolean") @implementation
public func nj_script_set_boolean(
    _ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: Bool
) -> nj_status { set(script, name, .boolean(value)) }

@_cdecl("nj_script_set_integer") @implementation
public func nj_script_set_integer(
    _ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: Int64
) -> nj_status { set(script, name, .integer(value)) }

@_cdecl("nj_script_set_number") @implementation
public func nj_script_set_number(
    _ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: Double
) -> nj_status { set(script, name, .number(value)) }

@_cdecl("nj_script_set_string") @implementation
public func nj_script_set_string(
    _ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ bytes: UnsafeRawPointer?, _ length: Int
) -> nj_status {
    guard length >= 0, bytes != nil || length == 0 else {
        return setting { () throws(NightjarError) in
            throw NightjarError(.invalidArgument, "the text is NULL but its length is not 0, or the length is negative")
        }
    }
    return set(script, name, .string(Array(UnsafeRawBufferPointer(start: bytes, count: length))))
}

@_cdecl("nj_script_set_json") @implementation
public func nj_script_set_json(
    _ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    use(script, outError) { script throws(NightjarError) in
        try script.setGlobal(required(text(name), "name"), jsonText: document(json, length))
    }
}

@_cdecl("nj_script_get_json") @implementation
public func nj_script_get_json(
    _ script: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ outLength: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> UnsafeMutablePointer<CChar>? {
    outLength?.pointee = 0
    return reporting(to: outError) { () throws(NightjarError) in
        let script = try required(Handle<ScriptBox>.borrow(script), "script").prepared()
        let json = try script.globalText(required(text(name), "name"))
        outLength?.pointee = json.count
        return json.take()
    }
}
