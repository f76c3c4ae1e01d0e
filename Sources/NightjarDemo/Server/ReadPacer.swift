import NIOCore
import NIOHTTP1

/// Pauses the reading of a request, for a slow sink.
///
/// A socket delivers one piece for each read. An HTTP/2 stream delivers all that its window allows, so that the pacer also
/// holds the parts that arrive during a pause.
final class ReadPacer {
    private let holdsParts: Bool
    private var pausedUntil: NIODeadline?
    private var hasHeldRead = false
    private var held = CircularBuffer<HTTPServerRequestPart>()
    private var timer: Scheduled<Void>?

    init(holdsParts: Bool) { self.holdsParts = holdsParts }

    /// Returns true if the part is held until ``next()`` returns it.
    func holds(_ part: HTTPServerRequestPart) -> Bool {
        guard holdsParts, pausedUntil != nil || !held.isEmpty else { return false }
        held.append(part)
        return true
    }

    /// Returns true if a requested read is held until ``takeRead()``.
    func holdsRead() -> Bool {
        guard pausedUntil != nil else { return false }
        hasHeldRead = true
        return true
    }

    func pause(for pause: TimeAmount, _ loop: any EventLoop, _ resume: @escaping () -> Void) {
        guard pause > .zero else { return }
        // One read may deliver several pieces, so their pauses add up.
        let end = (pausedUntil ?? .now()) + pause
        pausedUntil = end
        timer?.cancel()
        timer = loop.assumeIsolated().scheduleTask(deadline: end, resume)
    }

    /// Ends the pause. The caller then processes the held parts and the held read.
    func resume() {
        timer?.cancel()
        pausedUntil = nil
    }

    /// Returns the next held part. Nil during a pause.
    func next() -> HTTPServerRequestPart? { pausedUntil == nil ? held.popFirst() : nil }

    /// Returns true if a read was held and there is no pause.
    func takeRead() -> Bool {
        guard hasHeldRead, pausedUntil == nil else { return false }
        hasHeldRead = false
        return true
    }

    func cancel() {
        resume()
        held.removeAll()
    }
}
