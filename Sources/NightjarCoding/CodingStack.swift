import NIOCore
import NightjarHTTP

/// Removes the content codings from a body while it arrives. RFC 9110 section 8.4.
///
/// Decoding is pull-based: call ``add(_:)`` with received bytes, then ``next()`` until it returns nil. The stack
/// decodes only when ``next()`` is called, so a small body that expands to gigabytes is not decoded completely at once.
///
/// The coding that was applied last is removed first. Apart from input that has not been decoded yet, memory use does
/// not depend on the size of the body: each layer uses about 64 KiB and its window (gzip and deflate 32 KiB, br up to
/// 16 MiB, zstd up to 8 MiB).
///
///     open ──add, next──▶ open ──finish──▶ finished
///       └──────fault──────▶ failed (each call throws the same error)
package struct CodingStack: ~Copyable {
    /// The maximum number of content codings that are removed from one body.
    package static let maximumLayers = 4

    /// The largest part that ``next()`` returns, in bytes.
    package static let maximumPart = 64 * 1024

    private enum State {
        case open, finished
        case failed(NightjarError)
    }

    /// The layers, in the order in which their codings are removed.
    private var layers: [Layer]
    private let limits: DecodingLimits
    private var state: State
    /// Received bytes that the first layer has not consumed.
    private var wire: ByteBuffer
    /// The number of received bytes.
    private var received: Int
    /// True if there is nothing to decode: there was no input, or ``next()`` has returned nil since the last input.
    private var isDrained: Bool

    private struct Layer {
        let coding: ContentCoding
        let decoder: any LayerDecoder
        /// The buffer for the next layer. Nil for the last layer, which produces the parts.
        let layerBuffer: LayerBuffer?
        var made = 0
        /// True if the layer has filled its output buffer. It may then have more output without further input.
        var mayHoldMore = false
    }

    /// Returns nil if no coding needs to be removed, or if a coding is not supported. The body is then used as it is.
    ///
    /// - Parameter fieldValues: the values of all Content-Encoding fields, in order.
    /// - Throws: ``ErrorKind/decoding`` for more than ``maximumLayers`` codings, ``ErrorKind/noMemory`` if a decoder
    ///   cannot be created.
    package init?(
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

    /// Creates a stack that removes these codings.
    ///
    /// - Parameter codings: in the order in which they were applied.
    package init(codings: [ContentCoding], limits: DecodingLimits) throws(NightjarError) {
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
                "the body must have 1 to \(maximumLayers) content codings, got \(codings.count)"
            )
        }
        var layers: [Layer] = []
        for (index, coding) in codings.enumerated().reversed() {
            layers.append(
                Layer(
                    coding: coding, decoder: try coding.decoder(),
                    layerBuffer: index == 0 ? nil : LayerBuffer(maximumPart)))
        }
        return layers
    }

    // MARK: Decoding

    /// Adds received bytes. They are kept until ``next()`` has consumed them.
    package mutating func add(_ bytes: ByteBuffer) throws(NightjarError) {
        try checkOpen()
        guard bytes.readableBytes > 0 else { return }
        let (sum, isTooMuch) = received.addingReportingOverflow(bytes.readableBytes)
        received = isTooMuch ? Int.max : sum
        isDrained = false
        if wire.readableBytes == 0 {
            wire = bytes
        } else {
            // Without this call, consumed bytes would stay in the buffer until it is empty, which may never happen.
            wire.discardReadBytes()
            wire.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next 1 to ``maximumPart`` decoded bytes. Returns nil if more input is needed.
    ///
    /// - Throws: ``ErrorKind/decoding`` for invalid data, ``ErrorKind/tooLarge`` if a limit is exceeded,
    ///   ``ErrorKind/noMemory``. Parts returned before are valid.
    package mutating func next() throws(NightjarError) -> ByteBuffer? {
        try checkOpen()
        if isDrained { return nil }
        do throws(NightjarError) {
            let last = layers.count - 1
            let waiting = last == 0 ? wire.readableBytes : layers[last - 1].layerBuffer?.bytes.count ?? 0
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

    /// Adds bytes and passes each decoded part to `deliver`.
    ///
    /// - Parameter deliver: must not use this stack. If it throws, the remaining parts can be read with ``next()``.
    package mutating func decode(
        _ bytes: ByteBuffer, into deliver: (ByteBuffer) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        try add(bytes)
        while let part = try next() { try deliver(part) }
    }

    /// Reports the end of the body. Call it after ``next()`` has returned nil. An empty body is valid with any coding.
    ///
    /// - Throws: ``ErrorKind/decoding`` if the body is truncated.
    package mutating func finish() throws(NightjarError) {
        try checkOpen()
        guard isDrained else {
            throw NightjarError(.invalidArgument, "the body has unread parts; read them before finishing")
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
        case .finished: throw NightjarError(.invalidArgument, "decoding failed: the body has already ended")
        }
    }

    // MARK: Layers

    /// Fills `output` from a layer. While the layer lacks input, runs the preceding layers.
    ///
    /// - Returns: the number of bytes written, or 0 if more input is needed.
    private mutating func pull(
        from index: Int, into output: UnsafeMutableRawBufferPointer
    ) throws(NightjarError) -> Int {
        let decoder = layers[index].decoder
        while true {
            let needsInput = index == 0 ? wire.readableBytes == 0 : layers[index - 1].layerBuffer?.bytes.isEmpty ?? true
            if needsInput, !layers[index].mayHoldMore {
                guard index > 0, let layerBuffer = layers[index - 1].layerBuffer else { return 0 }
                let made = try pull(from: index - 1, into: layerBuffer.room)
                guard made > 0 else { return 0 }
                layerBuffer.fill(made)
            }
            let progress: LayerProgress
            if index > 0, let layerBuffer = layers[index - 1].layerBuffer {
                progress = try decoder.step(layerBuffer.bytes, output)
                layerBuffer.drop(progress.taken)
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
            guard progress.taken > 0 || needsInput else {
                throw layers[index].coding.damaged("the decoder rejects the data")
            }
        }
    }

    /// Returns the size of an output buffer for `count` input bytes, so that a small body does not allocate a large
    /// part.
    private static func partSize(for count: Int) -> Int {
        count >= maximumPart / 8 ? maximumPart : max(2048, count * 8)
    }

    /// Checks the output of a layer against the limits. The ratio is relative to the received bytes, so that the ratios
    /// of several layers do not multiply.
    private mutating func count(_ made: Int, by index: Int) throws(NightjarError) {
        layers[index].made += made
        let total = layers[index].made
        let isLast = index == layers.count - 1
        // The output of an inner layer is still encoded. It may be slightly larger than the decoded body.
        let slack = isLast ? 0 : limits.maximumBytes / 8 + 65_536
        let (most, isEndless) = limits.maximumBytes.addingReportingOverflow(slack)
        guard isEndless || total <= most else {
            throw NightjarError.inBody(
                .tooLarge,
                "the decoded body is larger than \(limits.maximumBytes) bytes; raise max_body or stream the response")
        }
        guard total > DecodingLimits.ratioGrace else { return }
        let (allowed, isUnlimited) = received.multipliedReportingOverflow(by: limits.maximumRatio)
        guard isUnlimited || total <= allowed else {
            throw NightjarError.inBody(
                .tooLarge,
                "decoding \(layers[index].coding.name) data expands the body to more than "
                    + "\(limits.maximumRatio) times its size")
        }
    }
}

/// A buffer between two layers. It is filled only when it is empty.
private final class LayerBuffer {
    let room: UnsafeMutableRawBufferPointer
    private var start = 0
    private var end = 0

    init(_ size: Int) { room = .allocate(byteCount: size, alignment: 16) }

    deinit { room.deallocate() }

    /// The bytes that have not been consumed.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: room[start..<end]) }

    /// Records that the first `count` bytes of the buffer were written.
    func fill(_ count: Int) {
        start = 0
        end = count
    }

    func drop(_ count: Int) { start += count }
}
