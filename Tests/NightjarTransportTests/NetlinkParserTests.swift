import NightjarHTTP
import Testing

@testable import NightjarTransport

/// Messages as Linux 6.1 sends them.
private enum Datagram {
    static func message(_ type: UInt16, _ content: [UInt8]) -> [UInt8] {
        bytes(UInt32(16 + content.count)) + bytes(type) + bytes(UInt16(2)) + bytes(UInt32(1)) + bytes(UInt32(0))
            + padded(content)
    }

    static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
        padded(bytes(UInt16(4 + value.count)) + bytes(type) + value)
    }

    static func bytes(_ number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }

    static let link = message(
        16,
        [0, 0, 1, 0] + bytes(Int32(2)) + bytes(UInt32(0x11043)) + bytes(UInt32(0)) + attribute(3, Array("eth0\0".utf8)))
    static let address = message(
        20,
        [2, 24, 0x80, 0] + bytes(Int32(2)) + attribute(1, [10, 0, 0, 7]) + attribute(2, [10, 0, 0, 5])
            + attribute(8, bytes(UInt32(0x80))))
    static let route = message(
        24,
        [2, 0, 0, 0, 254, 3, 0, 1] + bytes(UInt32(0)) + attribute(15, bytes(UInt32(254)))
            + attribute(5, [10, 0, 0, 1]) + attribute(4, bytes(Int32(2))) + attribute(6, bytes(UInt32(100))))
    static let done = message(3, bytes(Int32(0)))
}

private func parse(_ bytes: [UInt8]) -> (messages: [NetlinkParser.Message], isComplete: Bool) {
    var messages: [NetlinkParser.Message] = []
    let isComplete = bytes.withUnsafeBytes { NetlinkParser.parse($0) { messages.append($0) } }
    return (messages, isComplete)
}

@Suite struct NetlinkParserTests {
    private static let all = Datagram.link + Datagram.address + Datagram.route + Datagram.done
    private static let messages: [NetlinkParser.Message] = [
        .change(.link(2, .init(name: "eth0", isRunning: true))),
        .change(.address(.init(family: .ipv4, interface: 2, high: 0, low: 0x0A00_0005))),
        .change(.route(.init(family: .ipv4, interface: 2, metric: 100, gatewayLow: 0x0A00_0001))),
        .done,
    ]

    @Test func datagramHasSeveralMessages() {
        let parsed = parse(Self.all)
        #expect(parsed.messages == Self.messages)
        #expect(parsed.isComplete)
    }

    @Test func everyTruncationEndsTheParsing() {
        for length in 0..<Self.all.count {
            let parsed = parse(Array(Self.all[..<length]))
            #expect(parsed.messages.elementsEqual(Self.messages.prefix(parsed.messages.count)))
            if parsed.isComplete {
                #expect(
                    [0, Datagram.link.count, (Datagram.link + Datagram.address).count].contains(length)
                        || length == Self.all.count - Datagram.done.count)
            }
        }
    }

    @Test func everyChangedByteIsParsedWithoutATrap() {
        for index in Self.all.indices {
            for value: UInt8 in [0, 1, 3, 0x7F, 0x80, 0xFF] {
                var changed = Self.all
                changed[index] = value
                _ = parse(changed)
            }
        }
    }

    @Test func ipv6AddressesAndRoutes() {
        let bytes = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [9]
        let address = Datagram.message(20, [10, 64, 0x80, 0] + Datagram.bytes(Int32(3)) + Datagram.attribute(1, bytes))
        #expect(
            parse(address).messages == [
                .change(.address(.init(family: .ipv6, interface: 3, high: 0x2001_0DB8_0000_0000, low: 9)))
            ])
        // A multipath route names the interface in its first struct rtnexthop.
        let nexthop = Datagram.bytes(UInt16(8)) + [0, 0] + Datagram.bytes(Int32(4))
        let route = Datagram.message(
            24, [10, 0, 0, 0, 254, 9, 0, 1] + Datagram.bytes(UInt32(0)) + Datagram.attribute(9, nexthop))
        #expect(parse(route).messages == [.change(.route(.init(family: .ipv6, interface: 4)))])
    }

    /// RFC 4862 section 5.4: an address cannot be used before it is known to be unique.
    @Test func tentativeAddressIsNotUsable() {
        let tentative = Datagram.message(
            20, [2, 24, 0x40, 0] + Datagram.bytes(Int32(2)) + Datagram.attribute(1, [10, 0, 0, 5]))
        #expect(
            parse(tentative).messages == [
                .change(.addressRemoved(.init(family: .ipv4, interface: 2, high: 0, low: 0x0A00_0005)))
            ])
    }

    @Test func otherMessagesAreIgnored() {
        let linkLocal = Datagram.message(
            20, [10, 64, 0, 253] + Datagram.bytes(Int32(2)) + Datagram.attribute(1, [UInt8](repeating: 1, count: 16)))
        let network = Datagram.message(24, [2, 24, 0, 0, 254, 3, 0, 1] + Datagram.bytes(UInt32(0)))
        let blackhole = Datagram.message(24, [2, 0, 0, 0, 254, 3, 0, 6] + Datagram.bytes(UInt32(0)))
        let bridge = Datagram.message(
            17, [7, 0, 1, 0] + Datagram.bytes(Int32(2)) + Datagram.bytes(UInt32(0)) + Datagram.bytes(UInt32(0)))
        let acknowledgement = Datagram.message(2, Datagram.bytes(Int32(0)))
        #expect(parse(linkLocal + network + blackhole + bridge + acknowledgement).messages.isEmpty)
        let failure = Datagram.message(2, Datagram.bytes(Int32(-1)))
        #expect(parse(failure).messages == [.failed(1)])
        #expect(parse(Datagram.message(2, Datagram.bytes(Int32.min))).messages == [.failed(.max)])
    }

    @Test func systemReportsItsTables() {
        // A sandbox may deny the socket.
        guard let tables = NetlinkSocket.readTables() else { return }
        #expect(tables.isOnline == (tables.interface != nil))
    }
}
