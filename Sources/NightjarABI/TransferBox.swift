import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
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

        /// Calls `done`, the last callback of the transfer.
        func end(
            _ operation: Operation, _ result: Result<Void, NightjarError>, _ context: CallbackContext,
            _ done: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, OpaquePointer?) -> Void
        ) {
            guard let box = box(of: operation) else { return }
            defer { release() }
            switch result {
            case .success: done(context.pointer, Handle.lend(box), nil)
            case .failure(let error):
                let failure = ErrorBox(error)
                withExtendedLifetime(failure) { done(context.pointer, Handle.lend(box), Handle.lend(failure)) }
            }
        }
    }
}

/// Returns a copy of a structure of callbacks, or an empty one for NULL.
///
/// - Parameters:
///   - size: The member that the program has set to the size of the structure.
///   - name: The type of the structure, for the error.
/// - Throws: `invalid_argument` if the size differs, because the program was compiled with another header.
func transferCallbacks<Callbacks>(
    _ given: UnsafePointer<Callbacks>?, _ size: KeyPath<Callbacks, Int>, _ name: StaticString, or empty: Callbacks
) throws(NightjarError) -> Callbacks {
    guard let given = given?.pointee else { return empty }
    let expected = MemoryLayout<Callbacks>.size
    guard given[keyPath: size] == expected else {
        throw NightjarError(
            .invalidArgument, "callbacks->size must be sizeof(\(name)), \(expected), got \(given[keyPath: size])")
    }
    return given
}

@_cdecl("nj_client_remove_transfer") @implementation
public func nj_client_remove_transfer(
    _ client: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        try client.removeTransfer(try required(text(id), "id"))
    }
}
