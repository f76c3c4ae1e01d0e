import CLua
import Nightjar
import NightjarHandles

/// A Lua interpreter with `nightjar` in it, for hosts that run scripts.
///
/// For one thread at a time; ``interrupt()`` may be called from any. Scripts run on the thread that calls ``run(_:name:)``.
public final class Script: @unchecked Sendable {
    let state: OpaquePointer
    /// What the state's functions point to; kept even when a name is registered again, for the script may hold the old one.
    private var functions: [HostFunction] = []
    private var isRunning = false

    /// - Parameters:
    ///   - client: what `nightjar.client()` without options gives to the script; nil: it makes its own clients.
    ///     What the script logs by `nightjar.log` goes to the client's log; without one, to standard error, or nowhere in a
    ///     sandbox.
    ///   - sandboxed: without io, os, debug, package and print; with a client, the script can make no other. Its calls have cookies
    ///     and a cache of their own. The script does not see Set-Cookie and other response headers with credentials,
    ///     secrets in URLs, or request headers that it has not set. The options of its calls can tighten the client's
    ///     limits but not loosen them. A script that floods its log is stopped: beyond 10,000 lines or 4 MiB, and 100
    ///     lines or 64 KiB a second since then.
    ///   - allowedOrigins: URLs whose origins a sandboxed script may ask beside that of the client's base URL, which it may
    ///     in any case. It is led to no other, by redirects and next pages neither.
    ///   - pathScope: limits the calls of a sandboxed script to the base URL's origin to this path and the paths below
    ///     it; nil: the path of the base URL; "/": any path.
    /// - Throws: `script` when the limit of memory is too low to start, or there is none left; `invalid_url` for an origin
    ///   that is none; `invalid_argument` for origins of a script that is not sandboxed, which can open sockets.
    public init(
        client: Client? = nil, sandboxed: Bool = false, limits: ScriptLimits = ScriptLimits(),
        allowedOrigins: [String] = [], pathScope: String? = nil
    ) throws(NightjarError) {
        guard sandboxed || allowedOrigins.isEmpty && pathScope == nil else {
            throw NightjarError(
                .invalidArgument,
                "origins and path scopes are for sandboxed scripts alone: any other can open sockets of its own")
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
            throw NightjarError(.script, "there is not enough memory for a Lua state")
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

    // MARK: What scripts find

    /// Makes `function` a global of the script. It runs on the thread that is inside ``run(_:name:)``; it must not run this
    /// script.
    public func register(_ name: String, _ function: @escaping (ScriptCall) -> Void) throws(NightjarError) {
        let function = HostFunction(function)
        functions.append(function)
        let pointer = OpaquePointer(Unmanaged.passUnretained(function).toOpaque())
        try check(njl_script_set_function(state, name, pointer))
    }

    public func setGlobal(_ name: String, _ value: ScriptValue) throws(NightjarError) {
        try check(value.withC { value in withUnsafePointer(to: value) { njl_script_set_value(state, name, $0) } })
    }

    private func check(_ isSet: Bool) throws(NightjarError) {
        if !isSet { throw NightjarError(.script, "the script has not enough memory") }
    }

    // MARK: Running

    /// Runs a chunk of Lua to its end, and the tasks that it has spawned to theirs.
    ///
    /// - Parameter name: what messages call the chunk.
    /// - Throws: `script`, the message with a traceback.
    public func run(_ source: [UInt8], name: String = "script") throws(NightjarError) {
        try execute(NJL_FROM_TEXT, source, name: Array("=\(name)".utf8))
    }

    public func run(_ source: String, name: String = "script") throws(NightjarError) {
        try run(Array(source.utf8), name: name)
    }

    /// - Parameter path: nil: standard input.
    public func runFile(_ path: String?) throws(NightjarError) {
        try execute(NJL_FROM_FILE, [], name: path.map { Array($0.utf8) })
    }

    @discardableResult
    func execute(_ kind: njl_source, _ text: [UInt8], name: [UInt8]?) throws(NightjarError) -> njl_run_status {
        guard !isRunning else {
            throw NightjarError(.reentrant, "the script is running and cannot be run by a function that it called")
        }
        isRunning = true
        defer { isRunning = false }
        var message: UnsafeMutablePointer<CChar>?
        defer { njl_script_free_text(message) }
        let status = text.withUnsafeBytes { text in
            let bytes = njl_bytes(text)
            guard let name else { return njl_script_run(state, kind, bytes, nil, &message) }
            return (name.map(CChar.init(bitPattern:)) + [0]).withUnsafeBufferPointer {
                njl_script_run(state, kind, bytes, $0.baseAddress, &message)
            }
        }
        guard status != NJL_FAILED else {
            throw NightjarError(.script, message.map { String(cString: $0) } ?? "not enough memory")
        }
        return status
    }

    /// Ends the run in progress with an error that the script cannot catch. Any thread; without a run, nothing happens.
    public func interrupt() {
        njl_script_interrupt(state)
    }
}

/// What a script may use; nil: no bound. Those of ``init()`` are plenty for an honest script, and the end of one that has run
/// away. In a sandbox the work of library functions counts too, so that the limits also end those. In any other script,
/// a call of one of Lua's C functions runs to its end before limits and interrupts are checked: for example
/// `string.find` with a pattern made to take exponential time.
public struct ScriptLimits: Sendable {
    /// Bytes that Lua and its JSON parser may have allocated; 256 MiB by default. In a sandbox, memory held outside Lua
    /// for the script's calls counts too: request bodies not sent yet, response bodies that the script still
    /// references, and 8 KiB for each call. In addition, a sixteenth of the limit and at most 256 KiB of freed memory
    /// is kept for later allocations.
    public var memory: Int? = 256 << 20
    /// Of one run, in steps of 1000; each coroutine and task counts for 100 more: 100,000 millions, some ten minutes of
    /// computing.
    public var instructions: UInt64? = 100_000_000_000
    /// Likewise, without waiting: 1,000 millions, some seconds.
    public var burst: UInt64? = 1_000_000_000
    /// Of one run, by the wall clock: an hour.
    public var time: Duration? = .seconds(3600)
    /// Whether ``Script/interrupt()`` also ends a computation; that costs some speed.
    public var isInterruptible = true
    /// Whether `warn("@on")` brings warnings to standard error, which belongs to the host.
    var warns = false
    /// Those after so many fail. For tests.
    var allocations: UInt64?
    /// So many of them; nil: all.
    var failures: UInt64?

    public init() {}

    /// For a program's own scripts.
    public static let none = ScriptLimits(memory: nil, instructions: nil, burst: nil, time: nil)

    init(memory: Int?, instructions: UInt64?, burst: UInt64?, time: Duration?) {
        self.memory = memory
        self.instructions = instructions
        self.burst = burst
        self.time = time
    }
}
