import CCommand
import Nightjar
import Synchronization

/// `nightjar --trace`, and `.trace on` at the prompt: a line on standard error for each exchange.
final class TraceOutput: Sendable {
    private let table = TraceTable(hasColors: Console.errorHasColors)
    private let hasHeading = Atomic<Bool>(false)

    @Sendable
    func show(_ event: CallObserver.Event) {
        guard njc_traces(), case .exchanged(let exchange) = event else { return }
        let heading = hasHeading.exchange(true, ordering: .relaxed) ? "" : table.heading + "\n"
        Console.write(heading + table.line(exchange) + "\n", to: .error)
    }
}
