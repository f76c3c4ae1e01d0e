import NIOCore
import NIOPosix
import Synchronization

/// Fuzzes HTTP/2 connections with the frames of a server and the actions of callers. The transport, its pool and its
/// connections are real. The channels are in memory. Aborts if one of these invariants is violated:
///
/// - Nothing crashes or accesses memory outside its buffers (checked by AddressSanitizer), and nothing leaks.
/// - The events of an exchange are in order: 1xx responses, one head, the body, one end. None follows the end.
/// - Every exchange ends, except for cancelled ones, whose receivers are not called any more.
/// - The body arrives complete and unchanged, and never exceeds the Content-Length.
/// - A paused exchange receives no body. The memory of its held body is limited by the window and one read.
/// - The client sends valid frames, in an amount that is proportional to the input.
///
/// The first byte of the input has the settings. Two bytes for each exchange follow, then the server's bytes (raw mode)
/// or records: frames of the server and actions of the callers.
///
/// Called on the loop of the transport, so that no other event occurs meanwhile.
func fuzzHTTP2(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 4 else { return 0 }
    var input = Input(UnsafeRawBufferPointer(start: start, count: count))
    let objects = Gate().closed { gate in run(&input, gate) }
    require(objects.allSatisfy { $0.object == nil }, "a connection or an exchange leaks")
    return 0
}

/// The loop of the transport. Attempts to connect need a loop with threads.
let loop = MultiThreadedEventLoopGroup(numberOfThreads: 1).next()

private func run(_ input: inout Input, _ gate: Gate) -> [Weak] {
    let settings = input.byte()
    let conversation = Conversation(gate, settings)
    for _ in 0...(settings >> 4 & 3) { conversation.begin(input.byte(), input.byte()) }
    if settings & 8 != 0 { conversation.receiveRaw(&input) } else { conversation.perform(&input) }
    return conversation.finish()
}

/// A reference to an object that must not outlive a conversation.
struct Weak {
    weak var object: AnyObject?
}

/// Blocks the lookups of a conversation until it has ended, so that their results are dropped.
final class Gate: Sendable {
    private let mutex = Mutex(())

    func closed<Result>(_ body: (Gate) -> Result) -> Result { mutex.withLock { _ in body(self) } }

    func pass() { mutex.withLock { _ in } }
}

/// The rest of the input.
struct Input {
    private(set) var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    var isEmpty: Bool { rest.isEmpty }

    /// Returns the next byte; 0 at the end.
    mutating func byte() -> UInt8 {
        guard let first = rest.first else { return 0 }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
        return first
    }

    mutating func integer() -> Int { Int(byte()) << 8 | Int(byte()) }

    mutating func word() -> UInt32 { UInt32(integer()) << 16 | UInt32(integer()) }

    mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer {
        let part = UnsafeRawBufferPointer(rebasing: rest.prefix(count))
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
        return part
    }
}

func require(_ holds: Bool, _ claim: @autoclosure () -> String) {
    if !holds { fatalError(claim()) }
}
