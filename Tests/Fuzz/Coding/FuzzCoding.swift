import NIOCore
import NightjarCoding
import NightjarHTTP

/// Fuzzes the content codings with whole and split input. Aborts if one of these invariants is violated:
///
/// - The decoder never crashes and never accesses memory outside its buffers (checked by AddressSanitizer).
/// - Each way to split the input gives the same output, or all fail.
/// - Parts have 1 to 65,536 bytes, and their sum does not exceed the limit.
/// - Failures are `decoding` or `too_large`, and are permanent.
/// - Output that the encoder encodes again decodes to the same bytes.
///
/// The first bytes of the input are settings: the codings (two bits each, and their number) and the positions to split
/// at.
func fuzzCoding(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 3 else { return 0 }
    let input = UnsafeBufferPointer(start: start, count: count)
    let wire = Array(input[3...])
    var codings: [ContentCoding] = []
    for layer in 0..<1 + Int(input[0] >> 6) {
        codings.append(ContentCoding.allCases[Int(input[0] >> (2 * UInt8(layer % 3))) & 3])
    }

    let whole = Decoded(wire, cutAt: [], codings)
    let everyByte = Array(wire.indices.dropFirst())
    let cuts = [Int(input[1]), Int(input[1]) + Int(input[2])].filter { $0 < wire.count }
    for cut in [everyByte, cuts] {
        let pieces = Decoded(wire, cutAt: cut, codings)
        require((pieces.failure == nil) == (whole.failure == nil), "acceptance depends on the split")
        if whole.failure == nil {
            require(pieces.bytes == whole.bytes, "the output depends on the split")
        } else {
            require(
                pieces.bytes.starts(with: whole.bytes) || whole.bytes.starts(with: pieces.bytes),
                "invalid output before a failure")
        }
    }
    if whole.failure == nil { requireRoundTrip(whole.bytes) }
    return 0
}

/// The limit is far below the size from which the ratio is checked, because that check depends on the split.
private let limits = DecodingLimits(maximumBytes: 256 * 1024)

private struct Decoded {
    private(set) var bytes: [UInt8] = []
    private(set) var failure: ErrorKind?

    init(_ wire: [UInt8], cutAt cuts: [Int], _ codings: [ContentCoding]) {
        do throws(NightjarError) {
            var stack = try CodingStack(codings: codings, limits: limits)
            let bounds = [0] + cuts + [wire.count]
            do throws(NightjarError) {
                for (start, end) in zip(bounds, bounds.dropFirst()) {
                    try stack.decode(ByteBuffer(bytes: wire[start..<end])) { note($0) }
                }
                try stack.finish()
            } catch {
                failure = error.kind
                require(error.kind == .decoding || error.kind == .tooLarge, "an error of kind \(error.kind.name)")
                require(!error.message.isEmpty && error.message.utf8.count < 500, "an empty or too long message")
                do throws(NightjarError) {
                    try stack.decode(ByteBuffer(bytes: [0])) { _ in require(false, "it continues after an error") }
                    require(false, "it accepts input after an error")
                } catch {
                    require(error.kind == failure, "a later call fails differently")
                }
            }
        } catch {
            require(false, "a stack that cannot be made: \(error)")
        }
    }

    private mutating func note(_ part: ByteBuffer) {
        require((1...CodingStack.maximumPart).contains(part.readableBytes), "a part of \(part.readableBytes) bytes")
        bytes += part.readableBytesView
        require(bytes.count <= limits.maximumBytes, "more than the limit")
    }
}

private func requireRoundTrip(_ bytes: [UInt8]) {
    do throws(NightjarError) {
        var encoder = try GzipEncoder(level: 1)
        var encoded: [UInt8] = []
        try encoder.encode(ByteBuffer(bytes: bytes)) { encoded += $0.readableBytesView }
        try encoder.finish { encoded += $0.readableBytesView }
        let decoded = Decoded(encoded, cutAt: [], [.gzip])
        require(decoded.failure == nil && decoded.bytes == bytes, "encoded data is not decoded to the same")
    } catch {
        require(false, "the encoder fails: \(error)")
    }
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
