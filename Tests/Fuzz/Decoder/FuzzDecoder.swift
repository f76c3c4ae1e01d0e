import NIOCore
import NightjarHTTP

/// Fuzzes the response decoder with whole and split input. Aborts if one of these invariants is violated:
///
/// - The decoder never crashes and never reads past its input (checked by AddressSanitizer).
/// - Each way to split the input gives the same output.
/// - The decoder drains its buffer in a bounded number of steps before it needs more input.
/// - Failures are `protocol`, `too_large` or `connection_lost`, and are permanent.
/// - The output has no more content bytes than the input has bytes.
/// - Accepted header fields can be written, and are read back unchanged.
///
/// The first bytes of the input are settings: methods, whether the peer closes, small limits, and the positions to
/// split at.
func fuzzDecoder(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 4 else { return 0 }
    let input = UnsafeBufferPointer(start: start, count: count)
    let settings = Settings(flags: input[0], firstCut: input[1], secondCut: input[2], step: input[3])
    let wire = Array(input[4...])

    let whole = Outcome(wire, cutAt: [], settings)
    let everyByte = Array(wire.indices.dropFirst())
    let cuts = [Int(settings.firstCut), Int(settings.firstCut) + Int(settings.secondCut)].filter { $0 < wire.count }
    let steps = Array(stride(from: 1 + Int(settings.step), to: max(wire.count, 1), by: 1 + Int(settings.step)))
    for cut in [everyByte, cuts, steps] {
        require(Outcome(wire, cutAt: cut, settings) == whole, "the output depends on the split")
    }
    for head in whole.heads { head.headers.requireRoundTrip() }
    return 0
}

struct Settings {
    let methods: [Method]
    let closes: Bool
    var limits = HTTP1ResponseDecoder.Limits()
    let firstCut: UInt8
    let secondCut: UInt8
    let step: UInt8

    init(flags: UInt8, firstCut: UInt8, secondCut: UInt8, step: UInt8) {
        methods = flags & 1 == 0 ? [.get, .post] : [.head, .get]
        closes = flags & 2 != 0
        if flags & 4 != 0 {
            limits.maximumHead = 64
            limits.maximumFields = 3
            limits.maximumChunkLine = 8
        }
        limits.acceptsBareLF = flags & 8 != 0
        self.firstCut = firstCut
        self.secondCut = secondCut
        self.step = step
    }
}

/// The complete output of a decoder for some input, independent of how the input was split.
struct Outcome: Equatable {
    private(set) var heads: [ResponseHead] = []
    private var content: [[UInt8]] = []
    private var trailers: [Headers] = []
    private var reusable: [Bool] = []
    private var failure: ErrorKind?

    init(_ wire: [UInt8], cutAt cuts: [Int], _ settings: Settings) {
        var decoder = HTTP1ResponseDecoder(limits: settings.limits)
        var waiting = settings.methods[...]
        if let method = waiting.popFirst() { decoder.expectResponse(to: method) }
        var steps = 0
        do throws(NightjarError) {
            let bounds = [0] + cuts + [wire.count]
            for (start, end) in zip(bounds, bounds.dropFirst()) {
                var buffer = ByteBuffer(bytes: wire[start..<end])
                while let event = try decoder.next(&buffer) {
                    steps += 1
                    require(steps <= 2 * wire.count + 8, "events without bytes")
                    note(event, decoder)
                    if decoder.isIdle, decoder.connectionIsReusable, let method = waiting.popFirst() {
                        decoder.expectResponse(to: method)
                    }
                }
                require(buffer.readableBytes == 0, "more input was requested with bytes left")
            }
            if settings.closes, let event = try decoder.endOfStream() { note(event, decoder) }
        } catch {
            failure = error.kind
            require(
                [.protocol, .tooLarge, .connectionLost].contains(error.kind), "an error of kind \(error.kind.name)")
            require(!error.message.isEmpty && error.message.utf8.count < 2000, "an empty or too long message")
            require(!decoder.connectionIsReusable && !decoder.isIdle, "a failed connection was offered again")
            var more = ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")
            do throws(NightjarError) {
                _ = try decoder.next(&more)
                require(false, "it continues after an error")
            } catch {
                require(error.kind == failure, "a later call fails differently")
            }
        }
        require(content.reduce(0) { $0 + $1.count } <= wire.count, "content that was not sent")
    }

    private mutating func note(_ event: HTTP1ResponseDecoder.Event, _ decoder: HTTP1ResponseDecoder) {
        switch event {
        case .informational(let head):
            heads.append(head)
        case .head(let head):
            heads.append(head)
            content.append([])
        case .body(let bytes):
            require(bytes.readableBytes > 0, "an event without content")
            content[content.count - 1] += bytes.readableBytesView
        case .end(let fields):
            trailers.append(fields)
            reusable.append(decoder.connectionIsReusable)
            fields.requireRoundTrip()
        }
    }
}

extension Headers {
    func requireRoundTrip() {
        var copy = Headers()
        var strings = 0
        for index in 0..<count {
            withBytes(at: index) { name, value in
                require(FieldSyntax.isToken(name) && FieldSyntax.isValue(value), "a field violates the grammar")
                require(name.baseAddress?.load(fromByteOffset: name.count, as: UInt8.self) == 0, "no NUL after a name")
                require(
                    value.baseAddress?.load(fromByteOffset: value.count, as: UInt8.self) == 0, "no NUL after a value")
                require(value.first != 0x20 && value.last != 0x20, "a value with surrounding spaces")
                if String(validating: value, as: UTF8.self) != nil { strings += 1 }
            }
            require(
                self[name(at: index)] == value(at: firstIndex(of: name(at: index)) ?? -1), "a name that is not found")
            do { try copy.add(name(at: index), value(at: index)) } catch {
                require(false, "a field that cannot be added")
            }
        }
        if strings == count { require(copy == self, "fields changed") }
    }
}

func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
