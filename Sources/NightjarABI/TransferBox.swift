import Nightjar
import Synchronization

/// A download or an upload of a C program.
final class TransferBox<Operation: ClientOperation>: Sendable {
    private let started = Mutex<Operation?>(nil)

    /// Set before the program has the handle. Nil after fork.
    var operation: Operation? {
        guard let operation = started.withLock({ $0 }), !operation.isOfParent else { return nil }
        return operation
    }

    func start(_ operation: Operation) { started.withLock { $0 = operation } }

    /// Retains a box for the callbacks until the last one. Otherwise the box and its transfer would retain each other.
    final class Holder: Sendable {
        private let held: Mutex<TransferBox?>

        init(_ box: TransferBox) { held = Mutex(box) }

        /// Returns the box for a callback of the transfer, which may be called before the program has the handle.
        func box(of operation: Operation) -> TransferBox? {
            let box = held.withLock { $0 }
            box?.start(operation)
            return box
        }

        func release() { held.withLock { $0 = nil } }
    }
}
