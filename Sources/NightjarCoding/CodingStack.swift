import NIOCore
import NightjarHTTP

/// Takes the content codings off a body while it arrives. RFC 9110 section 8.4.
///
/// The last coding of the list was put on last, so it comes off first. Each layer hands what it makes to the next before
/// it makes more: whatever a body grows to, the memory is that of the layers' windows and 64 KiB each.
///
///     open ──decode──▶ open ──finish──▶ finished
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
    /// Bytes that came.
    private var received: Int

    private struct Layer {
        let coding: ContentCoding
        let decoder: any LayerDecoder
        /// Where it puts its output for the next layer; nil for the last, which makes the parts.
        let room: Scratch?
        var made = 0
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
        received = 0
    }

    /// - Parameter codings: in the order in which they were applied.
    public init(codings: [ContentCoding], limits: DecodingLimits) throws(NightjarError) {
        let layers = try CodingStack.layers(of: codings)
        self.layers = layers
        self.limits = limits
        state = .open
        received = 0
    }

    private static func layers(of codings: [ContentCoding]) throws(NightjarError) -> [Layer] {
        guard codings.count <= CodingStack.maximumLayers else {
            throw NightjarError(
                .decoding,
                "the body has \(codings.count) content codings on top of each other; at most "
                    + "\(CodingStack.maximumLayers) are taken off")
        }
        var layers: [Layer] = []
        for (index, coding) in codings.enumerated().reversed() {
            layers.append(
                Layer(
                    coding: coding, decoder: try coding.decoder(),
                    room: index == 0 ? nil : Scratch(CodingStack.maximumPart)))
        }
        return layers
    }

    /// Decodes what came, and hands all on that can be made of it, in parts of 1 to ``maximumPart`` bytes.
    ///
    /// - Parameter deliver: must not touch this stack; an error of its own fails the stack.
    /// - Throws: ``ErrorKind/decoding`` for damaged data, ``ErrorKind/tooLarge`` for what breaks the limits. What was
    ///   handed on before is sound.
    public mutating func decode(
        _ bytes: ByteBuffer, into deliver: (ByteBuffer) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        try checkOpen()
        guard bytes.readableBytes > 0 else { return }
        let (sum, isTooMuch) = received.addingReportingOverflow(bytes.readableBytes)
        received = isTooMuch ? Int.max : sum
        do throws(NightjarError) {
            try bytes.withUnsafeReadableBytes { (bytes) throws(NightjarError) in
                try push(bytes, through: 0, into: deliver)
            }
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// Says that the body has ended. A body of no bytes at all is fine, whatever its coding.
    ///
    /// - Throws: ``ErrorKind/decoding`` where it ended too soon.
    public mutating func finish() throws(NightjarError) {
        try checkOpen()
        if let layer = layers.first(where: { !$0.decoder.isWhole }) {
            state = .failed(layer.coding.truncated)
            throw layer.coding.truncated
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

    private mutating func push(
        _ input: UnsafeRawBufferPointer, through index: Int, into deliver: (ByteBuffer) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        guard index < layers.count else { return }
        let decoder = layers[index].decoder
        var rest = input
        while true {
            var progress = LayerProgress(taken: 0, made: 0)
            let size: Int
            if let room = layers[index].room {
                size = room.bytes.count
                progress = try decoder.step(rest, room.bytes)
                try count(progress.made, by: index)
                if progress.made > 0 {
                    try push(
                        UnsafeRawBufferPointer(rebasing: room.bytes[..<progress.made]), through: index + 1,
                        into: deliver)
                }
            } else {
                size = CodingStack.partSize(for: rest.count)
                var part = ByteBufferAllocator().buffer(capacity: size)
                try part.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { (room) throws(NightjarError) in
                    progress = try decoder.step(rest, UnsafeMutableRawBufferPointer(rebasing: room[..<size]))
                    return progress.made
                }
                try count(progress.made, by: index)
                if progress.made > 0 { try deliver(part) }
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[progress.taken...])
            // A layer that filled its room may have more to say, also when all input is taken.
            if rest.isEmpty, progress.made < size { return }
            guard progress.taken > 0 || progress.made > 0 else {
                if rest.isEmpty { return }
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
            throw NightjarError(.tooLarge, "the decoded body is larger than its limit of \(limits.maximumBytes) bytes")
        }
        guard total > DecodingLimits.ratioGrace else { return }
        let (allowed, isBoundless) = received.multipliedReportingOverflow(by: limits.maximumRatio)
        guard isBoundless || total <= allowed else {
            throw NightjarError(
                .tooLarge,
                "the body grows to more than \(limits.maximumRatio) times its size when its \(layers[index].coding.name) "
                    + "coding is taken off")
        }
    }
}

/// Memory that a layer writes into again and again.
private final class Scratch {
    let bytes: UnsafeMutableRawBufferPointer

    init(_ count: Int) { bytes = .allocate(byteCount: count, alignment: 16) }

    deinit { bytes.deallocate() }
}
