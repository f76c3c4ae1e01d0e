import CLua
import Glibc
import Nightjar
import NightjarHandles
import Testing

@testable import NightjarLua

/// Runs scripts with a memory allocation that fails, for each allocation.
enum Allocations {
    /// The allocations that fail, counted from the creation of a state.
    enum Failing {
        /// The n-th and all later ones: the script ends, including its finalizers.
        case allFrom
        /// Only the n-th, and Lua's repetition of it after a collection: the code that runs afterwards meets partially
        /// built objects.
        case one
    }

    /// Runs a script in a new state for each n, until no allocation fails. Each run must end, without an error or with
    /// one of the kind `script`. Nothing may crash, hang or leak, and a state in which one allocation failed must
    /// remain usable.
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
        #expect(left == 0, "of \(engines.count) states the engines of \(left) are there")
    }

    /// - Returns: nil if the script succeeds.
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

    /// Uses a state in which one allocation failed.
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

    /// Detects whether the objects of a state were released with it.
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

    /// Lua tries an allocation twice.
    private static let repetitions: UInt64 = 2
    /// The maximum number of allocations of a test script. The scripts need a few thousand.
    private static let most: UInt64 = 100_000
}
