import NIOCore
import Nightjar
import NightjarHTTP

/// Takes the parts of a response body for a decoder, and counts the memory of the decoder's incomplete element, such as a
/// line, towards the script's memory limit. Belongs to the thread that runs the Lua state.
final class BodyReader {
    let future: Future
    private let body: IncomingBody
    /// The length of the part that was taken last. Its bytes count as consumed when the decoder needs the next part.
    private var partLength = 0
    private var held = HeldBytes()

    /// - Parameter future: A response. Its body may be complete.
    init(_ future: Future) {
        self.future = future
        body = future.incoming ?? IncomingBody(complete: future.response?.body ?? ByteBuffer())
    }

    deinit { release(holding: 0) }

    /// Returns the next part of the body.
    ///
    /// - Parameters:
    ///   - count: The memory of the incomplete element, in bytes.
    ///   - element: The name of the element in messages.
    func next(holding count: Int, for element: @autoclosure () -> String) -> IncomingBody.Part {
        guard release(holding: count) else {
            return .failed(NightjarError(.noMemory, "\(element()) exceeds the script's memory limit", phase: .receive))
        }
        let part = body.next
        if case .bytes = part { partLength = body.take() }
        return part
    }

    /// Cancels the call. Unread parts of the body are discarded.
    func cancel() {
        future.task?.cancel()
        future.incoming?.close()
    }

    /// Credits the part that was taken last.
    @discardableResult
    private func release(holding count: Int) -> Bool {
        future.task?.consumed(partLength)
        partLength = 0
        return held.set(count, in: future.reservation)
    }
}
