import CLua
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A Lua interpreter with the `nightjar` module, for hosts that run scripts.
///
/// A script may be used by one thread at a time, except for ``interrupt()``. Lua code runs on the thread that calls
/// ``run(_:name:)``.
public final class Script: @unchecked Sendable {
    let state: OpaquePointer
    /// The functions that the state refers to. Kept even if a name is registered again, because the script may still
    /// hold the old function.
    private var functions: [HostFunction] = []
    /// Whether a run is in progress, or a value is exchanged.
    private(set) var isRunning = false
    /// The run in progress that ``startRun(_:name:on:finished:)`` or ``startInvoke(_:_:on:finished:)`` has started.
    private weak var startedRun: QueueWork?

    /// Creates a script.
    ///
    /// - Parameters:
    ///   - client: the client that `nightjar.client()` without options returns. `nightjar.log` writes to the client's
    ///     log; without a client or without its log, to standard error, or nowhere in a sandbox.
    ///   - sandboxed: removes the libraries io, os, debug and package, and functions such as print and loadfile. The
    ///     script cannot create clients. Its calls use separate cookies and a separate cache. The script does not see
    ///     Set-Cookie and other response headers with credentials, secrets in URLs, or request headers that it has not
    ///     set. The options of its calls can tighten the client's limits but not loosen them. A script that exceeds its
    ///     log limit is stopped: 10,000 lines or 4 MiB at once, then 100 lines or 64 KiB per second.
    ///   - allowedOrigins: URLs with the origins that a sandboxed script may access in addition to the origin of the
    ///     client's base URL. Redirects and next pages to other origins are rejected as well.
    ///   - pathScope: the path that a sandboxed script may access at the base URL's origin, including the paths below
    ///     it; nil: the path of the base URL; "/": any path.
    /// - Throws: `script` if there is not enough memory to start; `invalid_url` if an origin is invalid;
    ///   `invalid_argument` if `pathScope` is invalid or the client has no base URL for it, or if `allowedOrigins` or
    ///   `pathScope` is set for a script that is not sandboxed, because that script could open sockets.
    public init(
        client: Client? = nil, sandboxed: Bool = false, limits: ScriptLimits = ScriptLimits(),
        allowedOrigins: [String] = [], pathScope: String? = nil
    ) throws(NightjarError) {
        guard sandboxed || allowedOrigins.isEmpty && pathScope == nil else {
            throw NightjarError(
                .invalidArgument,
                "allowed origins and path scopes require a sandboxed script: other scripts can open sockets")
        }
        var origins: [Origin] = []
        for url in allowedOrigins { origins.append(try RequestURL(url).origin) }
        var options = njl_script_options()
        options.is_sandboxed = sandboxed
        options.is_interruptible = limits.isInterruptible
        options.memory = limits.memory ?? 0
        options.instructions = limits.instructions ?? 0
        options.burst = limits.burst ?? 0
        options.seconds = limits.time?.inSeconds ?? 0
        options.allocations = limits.allocations ?? 0
        options.failures = limits.failures ?? 0
        options.warns = limits.warns
        guard let state = njl_script_new(&options) else {
            throw NightjarError(.script, "not enough memory for a Lua state")
        }
        self.state = state
        if let client {
            if sandboxed {
                let engine = Handle<Engine>.borrow(njl_script_engine(state))
                engine?.confinement = try confinement(client, origins, pathScope, limits)
            }
            njl_script_set_client(state, Handle<Client>.make(client))
        }
    }

    private func confinement(
        _ client: Client, _ origins: [Origin], _ pathScope: String?, _ limits: ScriptLimits
    ) throws(NightjarError) -> Confinement {
        let scope = try pathScope.map { text throws(NightjarError) in try PathScope(text) }
        let cacheBytes = min(4 << 20, (limits.memory ?? 256 << 20) / 16)
        return try client.sandbox(
            origins: origins, scope: scope, memory: ScriptMemory(state), cacheBytes: cacheBytes)
    }

    deinit { njl_script_free(state) }

    // MARK: Globals

    /// Sets a global of the script to `function`. The function is called on the thread that runs the script and must
    /// not run this script.
    public func register(_ name: String, _ function: @escaping (ScriptCall) -> Void) throws(NightjarError) {
        let function = HostFunction(function)
        functions.append(function)
        let pointer = OpaquePointer(Unmanaged.passUnretained(function).toOpaque())
        try check(exchanging { njl_script_set_function(state, name, pointer) })
    }

    public func setGlobal(_ name: String, _ value: ScriptValue) throws(NightjarError) {
        try check(
            exchanging {
                value.withC { value in withUnsafePointer(to: value) { njl_script_set_value(state, name, $0) } }
            })
    }

    /// Sets a global to a value of JSON. Null becomes `nil`, but nightjar.null inside tables.
    ///
    /// - Throws: `script` if the memory limit is reached; `invalid_request` if a number is infinite or NaN.
    public func setGlobal(_ name: String, json: JSONValue) throws(NightjarError) {
        let text = try json.encoded()
        try check(text.withUnsafeReadableBytes { set(name, validJSON: $0) })
    }

    /// Sets a global to a value of JSON, given as text.
    ///
    /// - Throws: `decoding` if the text is not JSON; `script` if the memory limit is reached.
    package func setGlobal(_ name: String, jsonText: UnsafeRawBufferPointer) throws(NightjarError) {
        try JSONValue.check(jsonText)
        try check(set(name, validJSON: jsonText))
    }

    private func set(_ name: String, validJSON text: UnsafeRawBufferPointer) -> Bool {
        var value = njl_value()
        value.kind = NJL_JSON
        value.bytes = njl_bytes(text)
        return exchanging { njl_script_set_value(state, name, &value) }
    }

    /// Returns a global as a value of JSON; null if there is none. Metamethods are not called.
    ///
    /// Between two runs, the limits of a run apply.
    ///
    /// - Throws: `script` if JSON cannot represent the value or a limit is reached.
    public func global(_ name: String) throws(NightjarError) -> JSONValue { try globalText(name).value() }

    /// Returns the JSON text of a global.
    package func globalText(_ name: String) throws(NightjarError) -> ScriptText {
        var message: UnsafeMutablePointer<CChar>?
        let text = exchanging { njl_script_get_json(state, name, &message) }
        return try ScriptText(text, or: message)
    }

    /// Calls `body`, during which finalizers of the script may call host functions. These cannot run the script.
    private func exchanging<Result>(_ body: () -> Result) -> Result {
        let wasRunning = isRunning
        isRunning = true
        defer { isRunning = wasRunning }
        return body()
    }

    private func check(_ isSet: Bool) throws(NightjarError) {
        if !isSet { throw NightjarError(.script, "not enough memory") }
    }

    // MARK: Running

    /// Runs a Lua chunk. Returns when the chunk and the tasks that it spawned have ended.
    ///
    /// - Parameter name: the name of the chunk in messages.
    /// - Throws: `script` if the chunk fails, with a traceback in the message if there is one; `reentrant` if the
    ///   script is already running.
    public func run(_ source: [UInt8], name: String = "script") throws(NightjarError) {
        try execute(ScriptChunk(source, name: name), wantsResults: false)
    }

    public func run(_ source: String, name: String = "script") throws(NightjarError) {
        try run(Array(source.utf8), name: name)
    }

    /// Runs a Lua chunk as ``run(_:name:)-(String,_)`` does, and returns its results as an array of JSON. A result that is
    /// nil becomes null.
    ///
    /// - Throws: also `script` if JSON cannot represent a result.
    public func evaluate(_ source: String, name: String = "script") throws(NightjarError) -> JSONValue {
        try evaluate(ScriptChunk(Array(source.utf8), name: name)).value()
    }

    /// Calls a global function of the script as ``run(_:name:)-(String,_)`` runs a chunk, and returns its results as an
    /// array of JSON. Metamethods of the globals are not called.
    ///
    /// - Parameter arguments: null becomes `nil`, but nightjar.null inside tables.
    /// - Throws: `script` if there is no such function, if it fails, or if JSON cannot represent a result; `reentrant`
    ///   if the script is already running; `invalid_request` if a number is infinite or NaN.
    public func invoke(_ function: String, _ arguments: (any ParameterValue)?...) throws(NightjarError)
        -> JSONValue
    {
        try evaluate(ScriptChunk(function: function, arguments.map { JSONValue($0) })).value()
    }

    /// Runs a Lua file. Returns when the file's chunk and the tasks that it spawned have ended.
    ///
    /// - Parameter path: nil: standard input.
    public func runFile(_ path: String?) throws(NightjarError) {
        try execute(ScriptChunk(file: path), wantsResults: false)
    }

    /// Returns the results of a run as JSON text.
    package func evaluate(_ chunk: ScriptChunk) throws(NightjarError) -> ScriptText {
        guard let results = try execute(chunk, wantsResults: true) else {
            throw NightjarError(.script, "not enough memory")
        }
        return results
    }

    /// - Returns: the results; nil if they are not wanted.
    @discardableResult
    package func execute(_ chunk: ScriptChunk, wantsResults: Bool) throws(NightjarError) -> ScriptText? {
        try begin(nil)
        defer { end() }
        var (results, message): (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
        let status = chunk.withC(wantsResults: wantsResults) { njl_script_run(state, $0, &results, &message) }
        guard status != NJL_FAILED, results == nil else {
            return try ScriptText(status == NJL_FAILED ? nil : results, or: message)
        }
        return nil
    }

    /// Begins a run.
    ///
    /// - Parameter work: the work that starts the run; nil: the caller waits for its end.
    /// - Throws: `reentrant` if the script is running.
    func begin(_ work: QueueWork?) throws(NightjarError) {
        guard !isRunning else {
            throw NightjarError(
                .reentrant,
                startedRun == nil
                    ? "the script is already running; it cannot be run by a function that it calls"
                    : "the script is already running; wait for the end of the run that was started")
        }
        isRunning = true
        startedRun = work
        njl_script_prepare(state)
    }

    func end() {
        isRunning = false
        startedRun = nil
    }

    /// Cancels the run in progress that was started on a queue, if there is one.
    package func cancelStartedRun() { startedRun?.cancel() }

    /// Ends the run in progress with an error that the script cannot catch. See ``ScriptLimits/isInterruptible`` for
    /// computations. Callable from any thread. Does nothing if the script is not running.
    public func interrupt() {
        njl_script_interrupt(state)
    }
}

/// The limits of a script; nil: no limit. The defaults of ``init()`` are sufficient for ordinary scripts and stop
/// runaway scripts. In a sandbox, the work of library functions counts too, so the limits also stop these functions.
/// In any other script, limits and interrupts are not checked during a call of one of Lua's C functions, for example
/// `string.find` with a pattern that takes exponential time.
public struct ScriptLimits: Sendable {
    /// Bytes that Lua and its JSON parser may allocate; 256 MiB by default. In a sandbox, memory held outside of Lua
    /// for the script's calls counts too: request bodies not sent yet, response bodies that the script still
    /// references, and at least 8 KiB for each call.
    public var memory: Int? = 256 << 20
    /// Instructions of one run, counted in steps of 1000; each coroutine and task adds 100. 10^11 by default, about ten
    /// minutes of computing.
    public var instructions: UInt64? = 100_000_000_000
    /// Instructions between two waits, counted like ``instructions``. 10^9 by default, a few seconds of computing.
    public var burst: UInt64? = 1_000_000_000
    /// Wall-clock time of one run; an hour by default.
    public var time: Duration? = .seconds(3600)
    /// Whether ``Script/interrupt()`` also ends a computation. Costs some speed. Ignored if instructions or time are
    /// limited: computations can then always be interrupted.
    public var isInterruptible = true
    /// Whether `warn("@on")` enables warnings on standard error, which belongs to the host.
    var warns = false
    /// The number of allocations after which allocations fail. For tests.
    var allocations: UInt64?
    /// The number of allocations that fail; nil: all.
    var failures: UInt64?

    public init() {}

    /// No limits; for a program's own scripts.
    public static let none = ScriptLimits(memory: nil, instructions: nil, burst: nil, time: nil)

    init(memory: Int?, instructions: UInt64?, burst: UInt64?, time: Duration?) {
        self.memory = memory
        self.instructions = instructions
        self.burst = burst
        self.time = time
    }
}
