import NIOCore

/// The frames that records of the input describe.
extension Server {
    /// Adds the frames of one record to the pending ones. Returns false if a body may have other bytes than
    /// ``body(from:_:)``.
    func write(_ kind: UInt8, _ input: inout Input) -> Bool {
        switch kind {
        case 0:
            pending.writeBytes(input.bytes(Int(input.byte())))
            return false
        case 1:  // any frame
            let (type, flags, stream) = (input.byte(), input.byte(), Server.stream(input.byte()))
            frame(type, flags: flags, stream: stream, ByteBuffer(bytes: input.bytes(Int(input.byte()))))
            return type != 0
        case 2, 3, 4: fields(continues: kind == 3, &input)
        case 5, 6, 7:
            let stream = Server.stream(input.byte())
            let flags = input.byte()
            let count = kind == 5 ? Int(input.byte()) : input.integer() % 16_000
            for index in 0...Int(flags >> 3) {
                let isLast = index == Int(flags >> 3)
                data(
                    count, padding: flags & 2 == 0 ? nil : UInt8(min(255, 16_384 - count - 1)),
                    endsStream: flags & 1 != 0 && isLast, stream: stream)
                if flags & 4 != 0 { deliver() }
            }
        case 8:
            var payload = ByteBuffer()
            for _ in 0..<(input.byte() & 7) {
                payload.writeInteger(UInt16(input.byte()))
                payload.writeInteger(input.word())
            }
            frame(4, flags: 0, stream: 0, payload)
        case 9: frame(4, flags: 1, stream: 0, ByteBuffer())
        case 10: frame(8, flags: 0, stream: Server.stream(input.byte()), ByteBuffer(integer: input.word()))
        case 11: frame(3, flags: 0, stream: Server.stream(input.byte()), ByteBuffer(integer: UInt32(input.byte())))
        case 12:
            var payload = ByteBuffer(integer: Server.stream(input.byte()))
            payload.writeInteger(UInt32(input.byte()))
            frame(7, flags: 0, stream: 0, payload)
        case 13: frame(6, flags: input.byte() & 1, stream: 0, ByteBuffer(repeating: 0, count: 8))
        case 14:  // a valid response
            let stream = Server.stream(input.byte())
            frame(1, flags: 4, stream: stream, ByteBuffer(bytes: [0x88]))
            data(input.integer() % 16_000, padding: nil, endsStream: true, stream: stream)
        default:  // the same small frame many times
            let (type, flags, stream) = (input.byte() % 10, input.byte(), Server.stream(input.byte()))
            let size = [0, 5, 4, 4, 0, 4, 8, 8, 4, 0][Int(type)]
            for _ in 0..<input.integer() % 3000 {
                frame(type, flags: flags, stream: stream, ByteBuffer(repeating: 1, count: size))
            }
            return type != 0
        }
        return true
    }

    /// Writes HEADERS, and CONTINUATION if `continues`.
    private func fields(continues: Bool, _ input: inout Input) {
        let stream = Server.stream(input.byte())
        let flags = input.byte()
        var block = ByteBuffer()
        for _ in 0..<(input.byte() & 15) { Server.field(&input, into: &block) }
        guard continues else { return frame(1, flags: flags, stream: stream, block) }
        let first = block.readSlice(length: min(block.readableBytes, Int(input.byte()))) ?? ByteBuffer()
        frame(1, flags: flags & ~4, stream: stream, first)
        for _ in 0..<(input.byte() & 3) { frame(9, flags: 0, stream: stream, ByteBuffer()) }
        frame(9, flags: flags & 4, stream: stream, block)
    }

    /// Writes one field (RFC 7541 section 6).
    private static func field(_ input: inout Input, into block: inout ByteBuffer) {
        let form = input.byte()
        switch form >> 6 {
        case 0: block.writeInteger(0x80 | form & 0x3F)  // indexed
        case 1:  // a status
            block.writeBytes([0x08, 3])
            block.writeString(statuses[Int(form & 0x3F) % statuses.count])
        case 2:  // a common name with a value of the input; indexed for later fields
            string(names[Int(form & 0x0F) % names.count], prefix: form & 0x10 == 0 ? 0x00 : 0x40, into: &block)
            let value = input.bytes(Int(input.byte() & 0x7F))
            block.writeInteger(UInt8(value.count))
            block.writeBytes(value)
        default:  // a length
            string("content-length", prefix: 0, into: &block)
            let value = String(form & 0x20 == 0 ? Int(form & 0x1F) : input.integer())
            block.writeInteger(UInt8(value.utf8.count))
            block.writeString(value)
        }
    }

    private static func string(_ name: String, prefix: UInt8, into block: inout ByteBuffer) {
        block.writeInteger(prefix)
        block.writeInteger(UInt8(name.utf8.count))
        block.writeString(name)
    }

    /// Mostly numbers of the first streams.
    private static func stream(_ byte: UInt8) -> UInt32 {
        switch byte {
        case 0..<64: byte == 0 ? 0 : UInt32(byte) * 2 - 1
        case 64..<128: UInt32(byte - 64) * 2
        default: 0x7FFF_FFFF - UInt32(byte - 128)
        }
    }

    private static let statuses = ["200", "100", "103", "101", "204", "304", "206", "404", "417", "421", "503", "099"]
    private static let names = [
        "a", ":status", "connection", "transfer-encoding", "content-length", "Upper", "", ":path", "trailer", "cookie",
        "te", "upgrade", "set-cookie", "sec-websocket-protocol", "content-encoding", "x",
    ]
}
