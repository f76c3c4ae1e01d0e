import CLua
import Glibc
import Nightjar
import NightjarHandles
import Testing

@testable import NightjarLua

/// Repeats a script with a failing memory allocation, once for each allocation of the script.
enum Allocations {
    /// The allocations that fail, counted from the creation of a state.
    enum Failing {
        /// The n-th allocation and all later ones. The script and its finalizers must end.
        case allFrom
        /// Only the n-th allocation, and its repetition by Lua after a garbage collection. Code that runs afterwards
        /// may use partially built objects.
        case one
    }

    /// Runs a script in a new state for each n, until no allocation fails. Each run must succeed or fail with an error
    /// of the kind `script`. Nothing may crash, hang or leak. A state in which one allocation failed must remain
    /// usable.
    static func fail(
        _ failing: Failing, in source: String, client: Client? = nil, isSandboxed: Bool = false,
        prepare: (Script) throws -> Void = { _ in }
    ) throws {
        let bytes = Array("local nightjar = require 'nightjar' \(source)".utf8)
        var allowed = isSandboxed ? 1 : opening
        var engines: [WeakEngine] = []
        while true {
            let limits = limits(allowed, failing)
            if let script = try? Script(client: client, sandboxed: isSandboxed, limits: limits) {
                engines.append(WeakEngine(script))
                let problem = Self.problem(of: script, bytes, prepare)
                let made = njl_script_allocations(script.state)
                if made <= allowed {
                    #expect(problem == nil)
                    break
                }
                if failing == .one, made > allowed + repetitions { try resume(script) }
            }
            allowed += 1
            // Without this bound, the loop might never end.
            try #require(allowed < opening + most)
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while engines.contains(where: \.isThere), ContinuousClock.now < deadline { usleep(1000) }
        let left = engines.count(where: \.isThere)
        #expect(left == 0, "\(left) of \(engines.count) engines were not released")
    }

    /// - Returns: The error message, or nil if the script succeeds.
    private static func problem(of script: Script, _ source: [UInt8], _ prepare: (Script) throws -> Void) -> String? {
        do {
            try prepare(script)
            try script.run(source)
            return nil
        } catch let error as NightjarError {
            #expect(error.kind == .script)
            #expect(!error.message.contains("assertion failed"))
            return error.message
        } catch {
            return "\(error)"
        }
    }

    /// Checks that a state in which one allocation failed is usable.
    private static func resume(_ script: Script) throws {
        try script.run("local nightjar = require 'nightjar' nightjar.spawn(nightjar.sleep, 0):join()")
    }

    private static func limits(_ allowed: UInt64, _ failing: Failing) -> ScriptLimits {
        limiting {
            $0.allocations = allowed
            $0.failures = failing == .one ? repetitions : nil
            $0.isInterruptible = false
        }
    }

    /// Detects whether the engine of a state was released with the state.
    private struct WeakEngine {
        private weak var engine: Engine?
        var isThere: Bool { engine != nil }

        init(_ script: Script) { engine = Handle<Engine>.borrow(njl_script_engine(script.state)) }
    }

    /// The number of allocations that opening a state takes.
    private static let opening: UInt64 = {
        var number: UInt64 = 1
        while (try? Script(limits: limits(number, .allFrom))) == nil { number += 1 }
        return number
    }()

    /// The number of times that Lua tries an allocation.
    private static let repetitions: UInt64 = 2
    /// The maximum number of allocations of a test script. The scripts need a few thousand.
    private static let most: UInt64 = 100_000
}
