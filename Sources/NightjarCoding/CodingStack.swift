import NIOCore
import NightjarHTTP

/// Takes the content codings off a body while it arrives. RFC 9110 section 8.4.
///
/// It is pulled: ``add(_:)`` what came, and ask for the ``next()`` part until there is none. So a reader that has enough
/// stops asking, and a few bytes that stand for gigabytes wait as those few bytes. The last coding of the list was put on
/// last and comes off first; a layer is only asked for more when the one above it has used up what it made. Whatever a
/// body grows to, the memory is that of the layers' windows (gzip and deflate 32 KiB, br up to 16 MiB, zstd up to 8 MiB)
/// and 64 KiB for each.
///
///     open ──add, next──▶ open ──finish──▶ finished
///       └──────fault──────▶ failed (the same error again)
public struct CodingStack: ~Copyable {
    /// Layers that are taken off; nobody means more.
    public static let maximumLayers = 4

    /// Bytes of the largest part that is handed on.
    public static let maximumPart = 64 * 1024

    private enum State {
        case open, finished
        case failed(NightjarError)
    }

    /// In the order of taking off.
    private var layers: [Layer]
    private let limits: DecodingLimits
    private var state: State
    /// What came and has not been taken by the first layer.
    private var wire: ByteBuffer
    /// Bytes that came.
    private var received: Int
    /// Whether ``next()`` has said that there is nothing left.
    private var isDrained: Bool

    private struct Layer {
        let coding: ContentCoding
        let decoder: any LayerDecoder
        /// What it made for the next layer; nil for the last, which makes the parts.
        let passage: Passage?
        var made = 0
        /// It filled its room, and so may have more to say without being given anything.
        var mayHoldMore = false
    }

    /// Nil where there is nothing to take off, or a coding that is not understood: the body is what it is.
    ///
    /// - Parameter fieldValues: of all Content-Encoding fields, in their order.
    /// - Throws: ``ErrorKind/decoding`` for more than ``maximumLayers`` codings.
    public init?(
        contentEncoding fieldValues: some Sequence<some StringProtocol>, limits: DecodingLimits
    ) throws(NightjarError) {
        guard let codings = ContentCoding.list(from: fieldValues), !codings.isEmpty else { return nil }
        let layers = try CodingStack.layers(of: codings)
        self.layers = layers
        self.limits = limits
        state = .open
        wire = ByteBuffer()
        received = 0
        isDrained = true
    }

    /// - Parameter codings: in the order in which they were applied.
    public init(codings: [ContentCoding], limits: DecodingLimits) throws(NightjarError) {
        let layers = try CodingStack.layers(of: codings)
        self.layers = layers
        self.limits = limits
        state = .open
        wire = ByteBuffer()
        received = 0
        isDrained = true
    }

    private static func layers(of codings: [ContentCoding]) throws(NightjarError) -> [Layer] {
        guard (1...maximumLayers).contains(codings.count) else {
            throw NightjarError.inBody(
                .decoding,
                "the body has \(codings.count) content codings on top of each other; 1 to \(maximumLayers) are taken off"
            )
        }
        var layers: [Layer] = []
        for (index, coding) in codings.enumerated().reversed() {
            layers.append(
                Layer(
                    coding: coding, decoder: try coding.decoder(), passage: index == 0 ? nil : Passage(maximumPart)))
        }
        return layers
    }

    // MARK: Decoding

    /// Takes what came; it is kept until ``next()`` has used it up.
    public mutating func add(_ bytes: ByteBuffer) throws(NightjarError) {
        try checkOpen()
        guard bytes.readableBytes > 0 else { return }
        let (sum, isTooMuch) = received.addingReportingOverflow(bytes.readableBytes)
        received = isTooMuch ? Int.max : sum
        isDrained = false
        if wire.readableBytes == 0 {
            wire = bytes
        } else {
            // What was used up would otherwise stay for as long as it never runs empty.
            wire.discardReadBytes()
            wire.writeImmutableBuffer(bytes)
        }
    }

    /// The next 1 to ``maximumPart`` bytes that can be made of what came; nil when more has to come.
    ///
    /// - Throws: ``ErrorKind/decoding`` for damaged data, ``ErrorKind/tooLarge`` for what breaks the limits. What was
    ///   handed on before is sound.
    public mutating func next() throws(NightjarError) -> ByteBuffer? {
        try checkOpen()
        if isDrained { return nil }
        do throws(NightjarError) {
            let last = layers.count - 1
            let waiting = last == 0 ? wire.readableBytes : layers[last - 1].passage?.bytes.count ?? 0
            let size = CodingStack.partSize(for: waiting)
            var part = ByteBufferAllocator().buffer(capacity: size)
            var made = 0
            try part.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { (room) throws(NightjarError) in
                made = try pull(from: last, into: UnsafeMutableRawBufferPointer(rebasing: room[..<size]))
                return made
            }
            if made > 0 { return part }
            isDrained = true
            wire = ByteBuffer()
            return nil
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// ``add(_:)``, and each ``next()`` part at once, for a receiver that takes all there is.
    ///
    /// - Parameter deliver: must not touch this stack. An error of its own leaves the rest to be pulled.
    public mutating func decode(
        _ bytes: ByteBuffer, into deliver: (ByteBuffer) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        try add(bytes)
        while let part = try next() { try deliver(part) }
    }

    /// Says that the body has ended, when ``next()`` has nothing left. A body of no bytes at all is fine, whatever its
    /// coding.
    ///
    /// - Throws: ``ErrorKind/decoding`` where it ended too soon.
    public mutating func finish() throws(NightjarError) {
        try checkOpen()
        guard isDrained else {
            throw NightjarError(.invalidArgument, "the body has parts left; ask for them before it is finished")
        }
        if let layer = layers.first(where: { !$0.decoder.isWhole }) {
            let error = layer.coding.truncated
            state = .failed(error)
            throw error
        }
        state = .finished
    }

    private func checkOpen() throws(NightjarError) {
        switch state {
        case .open: return
        case .failed(let error): throw error
        case .finished: throw NightjarError(.invalidArgument, "the body has ended; nothing can be decoded after that")
        }
    }

    // MARK: Layers

    /// Lets a layer fill `output`, and the layers below it work for it where it has nothing to do.
    ///
    /// - Returns: bytes made; 0 when more has to come.
    private mutating func pull(
        from index: Int, into output: UnsafeMutableRawBufferPointer
    ) throws(NightjarError) -> Int {
        let decoder = layers[index].decoder
        while true {
            let isHungry = index == 0 ? wire.readableBytes == 0 : layers[index - 1].passage?.bytes.isEmpty ?? true
            if isHungry, !layers[index].mayHoldMore {
                guard index > 0, let passage = layers[index - 1].passage else { return 0 }
                let made = try pull(from: index - 1, into: passage.room)
                guard made > 0 else { return 0 }
                passage.fill(made)
            }
            let progress: LayerProgress
            if index > 0, let passage = layers[index - 1].passage {
                progress = try decoder.step(passage.bytes, output)
                passage.drop(progress.taken)
            } else {
                progress = try wire.withUnsafeReadableBytes { (bytes) throws(NightjarError) in
                    try decoder.step(bytes, output)
                }
                wire.moveReaderIndex(forwardBy: progress.taken)
            }
            layers[index].mayHoldMore = progress.made == output.count
            if progress.made > 0 {
                try count(progress.made, by: index)
                return progress.made
            }
            guard progress.taken > 0 || isHungry else {
                throw layers[index].coding.damaged("its decoder does not take it")
            }
        }
    }

    /// Room for the output of that many bytes: a small body does not cost a large part.
    private static func partSize(for count: Int) -> Int {
        count >= maximumPart / 8 ? maximumPart : max(2048, count * 8)
    }

    /// Holds each layer to the limits, measured against the bytes received, so that ratios do not multiply.
    private mutating func count(_ made: Int, by index: Int) throws(NightjarError) {
        layers[index].made += made
        let total = layers[index].made
        let isLast = index == layers.count - 1
        // What is still encoded may be a little larger than what it decodes to.
        let slack = isLast ? 0 : limits.maximumBytes / 8 + 65_536
        let (most, isEndless) = limits.maximumBytes.addingReportingOverflow(slack)
        guard isEndless || total <= most else {
            throw NightjarError.inBody(
                .tooLarge, "the decoded body is larger than its limit of \(limits.maximumBytes) bytes")
        }
        guard total > DecodingLimits.ratioGrace else { return }
        let (allowed, isBoundless) = received.multipliedReportingOverflow(by: limits.maximumRatio)
        guard isBoundless || total <= allowed else {
            throw NightjarError.inBody(
                .tooLarge,
                "the body grows to more than \(limits.maximumRatio) times its size when its \(layers[index].coding.name) "
                    + "coding is taken off")
        }
    }
}

/// Bytes on their way from one layer to the next: filled when it is empty, then used up.
private final class Passage {
    let room: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    init(_ size: Int) { room = .allocate(byteCount: size, alignment: 16) }

    deinit { room.deallocate() }

    /// What has not been used.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: room[start..<end]) }

    /// Notes that the first `count` bytes of the room were written.
    func fill(_ count: Int) {
        start = 0
        end = count
    }

    func drop(_ count: Int) { start += count }
}
