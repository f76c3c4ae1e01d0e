import CLua
import Nightjar
import NightjarHTTP

/// Counts memory outside of Lua against a script's memory limit. Calls that outlive the script still use this account.
final class ScriptMemory: MemoryAccount, @unchecked Sendable {
    private let budget: OpaquePointer

    /// - Returns: nil for a script without a limit.
    init?(_ script: OpaquePointer) {
        guard let budget = njl_script_budget(script) else { return nil }
        self.budget = budget
    }

    deinit { njl_budget_release(budget) }

    func take(_ bytes: Int) -> Bool { njl_budget_take(budget, bytes) }
    func release(_ bytes: Int) { njl_budget_give(budget, bytes) }
}
