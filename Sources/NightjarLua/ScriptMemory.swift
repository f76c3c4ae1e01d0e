import CLua
import Nightjar

/// The memory of a script, where what is held outside of Lua for it counts too. It outlives the script with the calls that do.
final class ScriptMemory: MemoryAccount, @unchecked Sendable {
    private let budget: OpaquePointer

    /// - Returns: nil for a script without a limit.
    init?(_ script: OpaquePointer) {
        guard let budget = njl_script_budget(script) else { return nil }
        self.budget = budget
    }

    deinit { njl_budget_release(budget) }

    func take(_ bytes: Int) -> Bool { njl_budget_take(budget, bytes) }
    func give(_ bytes: Int) { njl_budget_give(budget, bytes) }
}
