import CLua
import Nightjar
import NightjarHandles

/// The interpreter of the `nightjar` command, with all of Lua's libraries, `arg`, warnings and Ctrl-C. Code and names
/// are bytes; names and arguments contain no NUL.
public final class Interpreter {
    private let script: Script

    /// Creates the interpreter.
    ///
    /// - Parameters:
    ///   - arguments: the process's arguments, starting with its own name; they become the table `arg` as in `lua`.
    ///   - scriptPosition: the index of the script's name in `arguments`, or `arguments.count` if there is no script.
    public init(arguments: [[UInt8]], scriptPosition: Int) throws(NightjarError) {
        var limits = ScriptLimits.none
        limits.isInterruptible = false
        limits.warns = true
        script = try Script(limits: limits)
        let first = scriptPosition < arguments.count ? scriptPosition : 0
        let isSet = withCStrings(arguments) { values in
            njl_script_set_arguments(script.state, Int32(clamping: arguments.count), values, Int32(clamping: first))
        }
        guard isSet else { throw NightjarError(.script, "not enough memory for the arguments") }
    }

    /// Observes the clients that scripts create from now on. Events are delivered on the thread that runs the scripts.
    ///
    /// - Parameter keepsMessages: Whether the reports of WebSockets contain their first messages, for archives.
    public func observe(keepsMessages: Bool = false, by observe: @escaping @Sendable (CallObserver.Event) -> Void) {
        guard let engine = Handle<Engine>.borrow(njl_script_engine(script.state)) else { return }
        engine.observers.append(
            CallObserver(queue: engine.queue, keepsMessages: keepsMessages, observe: observe))
    }

    public func runCode(_ code: [UInt8]) throws(NightjarError) {
        try execute(NJL_FROM_TEXT, code, name: Array("=(command line)".utf8))
    }

    /// Runs a file.
    ///
    /// - Parameter path: nil: standard input.
    public func runFile(_ path: [UInt8]?) throws(NightjarError) {
        try execute(NJL_FROM_FILE, [], name: path)
    }

    /// Loads a module and assigns it to a global, as the option `-l` of `lua` does.
    ///
    /// - Parameter name: `module`, or `global=module`.
    public func require(_ name: [UInt8]) throws(NightjarError) {
        try execute(NJL_FROM_MODULE, [], name: name)
    }

    /// Calls a `lua_CFunction` that opens a library in the interpreter's state. The function may raise.
    public func open(_ library: @convention(c) (OpaquePointer?) -> Int32) throws(NightjarError) {
        var message: UnsafeMutablePointer<CChar>?
        defer { njl_script_free_text(message) }
        guard !njl_script_open(script.state, library, &message) else { return }
        throw NightjarError(.script, message.map { String(cString: $0) } ?? "not enough memory")
    }

    /// Calls the function that `require` returns for a module. The arguments contain no NUL.
    ///
    /// - Returns: the integer that the function returned, or 0.
    public func runProgram(_ module: String, arguments: [[UInt8]] = []) throws(NightjarError) -> Int32 {
        try execute(NJL_FROM_PROGRAM, Array(arguments.map { $0 + [0] }.joined()), name: Array(module.utf8))
        return njl_script_exit_status(script.state)
    }

    private func execute(_ kind: njl_source, _ text: [UInt8], name: [UInt8]?) throws(NightjarError) {
        njl_script_catch_interrupt(script.state)
        defer { njl_script_release_interrupt() }
        try script.execute(ScriptChunk(kind, text, name: name), wantsResults: false)
    }

    /// Whether SIGINT has interrupted a script of this process.
    public static var wasInterrupted: Bool { njl_script_was_interrupted() }

    public static let luaVersion = String(cString: njl_lua_version())
}

/// Calls `body` with the strings as C strings.
private func withCStrings<Result>(
    _ strings: [[UInt8]], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>?) -> Result
) -> Result {
    var bytes: [CChar] = []
    var starts: [Int] = []
    for string in strings {
        starts.append(bytes.count)
        bytes.append(contentsOf: string.map(CChar.init(bitPattern:)))
        bytes.append(0)
    }
    return bytes.withUnsafeMutableBufferPointer { bytes in
        let pointers = starts.map { start in bytes.baseAddress.map { $0 + start } }
        return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
    }
}
