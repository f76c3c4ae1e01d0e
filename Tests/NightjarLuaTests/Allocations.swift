import CLua
import Glibc
import Nightjar
import NightjarHandles
import Testing

@testable import NightjarLua

/// Scripts that run out of memory wherever they may.
enum Allocations {
    /// Which of them fail, counted from the beginning of a state.
    enum Failing {
        /// The n-th and all behind it: the script ends, and its last wishes with it.
        case allFrom
        /// The n-th alone, and what Lua tries again after a collection: what was made by halves is met by what comes then.
        case one
    }

    /// Runs a script in a state of its own for each n until nothing fails any more. Each run ends, with an error of the kind
    /// `script` or without; nothing crashes, hangs or stays, and a state in which one has failed works on.
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
                if failing == .one, made > allowed + repetitions { try goOn(script) }
            }
            allowed += 1
            // Or it would run for ever.
            try #require(allowed < opening + most)
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while engines.contains(where: \.isThere), ContinuousClock.now < deadline { usleep(1000) }
        let left = engines.count(where: \.isThere)
        #expect(left == 0, "of \(engines.count) states the engines of \(left) are there")
    }

    /// - Returns: nil where it has none.
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

    /// A state in which one has failed.
    private static func goOn(_ script: Script) throws {
        try script.run("local nightjar = require 'nightjar' nightjar.spawn(nightjar.sleep, 0):join()")
    }

    private static func limits(_ allowed: UInt64, _ failing: Failing) -> ScriptLimits {
        limiting {
            $0.allocations = allowed
            $0.failures = failing == .one ? repetitions : nil
            $0.isInterruptible = false
        }
    }

    /// To see that what belongs to a state goes with it.
    private struct WeakEngine {
        private weak var engine: Engine?
        var isThere: Bool { engine != nil }

        init(_ script: Script) { engine = Handle<Engine>.borrow(njl_script_engine(script.state)) }
    }

    /// How many it takes to open a state.
    private static let opening: UInt64 = {
        var number: UInt64 = 1
        while (try? Script(limits: limits(number, .allFrom))) == nil { number += 1 }
        return number
    }()

    /// Lua asks twice.
    private static let repetitions: UInt64 = 2
    /// Of a script for a test, which does with some thousand.
    private static let most: UInt64 = 100_000
}
