import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct RetryBudgetTests {
    /// Simulates calls with up to three attempts. Each attempt fails with the probability `failing`.
    private func attempts(calls: Int, failing: Double, seed: UInt64) -> (all: Int, succeeded: Int) {
        var budget = RetryBudget()
        var random = SeededRandom(seed: seed)
        var all = 0
        var succeeded = 0
        for _ in 0..<calls {
            for attempt in 0..<3 {
                all += 1
                if Double.random(in: 0..<1, using: &random) >= failing {
                    budget.succeeded(retries: attempt)
                    succeeded += 1
                    break
                }
                if attempt == 2 || !budget.takeRetry() { break }
            }
        }
        return (all, succeeded)
    }

    @Test func failedServerReceivesOnlyTheReserveOfRetries() {
        #expect(attempts(calls: 10_000, failing: 1, seed: 1).all == 10_010)
    }

    @Test func mostlyFailingServerReceivesFewRetries() {
        #expect(attempts(calls: 10_000, failing: 0.9, seed: 2).all < 11_000)
    }

    @Test func unreliableServerIsRetried() {
        #expect(attempts(calls: 10_000, failing: 0.2, seed: 3).succeeded > 9_900)
    }

    @Test func successesRefillTheBudget() {
        var settings = RetryBudget.Settings()
        settings.reserve = 1
        var budget = RetryBudget(settings)
        #expect(budget.takeRetry() == true)
        #expect(budget.takeRetry() == false)
        for _ in 0..<9 { budget.succeeded(retries: 0) }
        #expect(budget.takeRetry() == false)
        budget.succeeded(retries: 0)
        #expect(budget.takeRetry() == true)
    }

    @Test func budgetIsBoundedByTheReserve() {
        var budget = RetryBudget()
        for _ in 0..<1000 { budget.succeeded(retries: .max) }
        #expect(budget.available == 10)
    }

    @Test func withoutAReserveNothingIsRetried() {
        var settings = RetryBudget.Settings()
        settings.reserve = .min
        settings.successesPerRetry = .max
        var budget = RetryBudget(settings)
        budget.succeeded(retries: 3)
        #expect(budget.takeRetry() == false)
    }
}
