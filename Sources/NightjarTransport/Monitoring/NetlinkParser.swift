import NightjarHTTP

/// Reads the messages in a datagram of a netlink socket (netlink(7), rtnetlink(7)).
///
/// The lengths in the datagram are not trusted: a message that exceeds the datagram ends the parsing of the datagram,
/// and an attribute that exceeds its message ends the parsing of the attributes.
package enum NetlinkParser {
    package enum Message: Equatable {
        case change(NetworkTables.Change)
        /// The end of a table.
        case done
        /// The request failed with this errno value.
        case failed(Int32)
    }

    /// Calls `body` for each message that concerns links, addresses or default routes, or that ends a table or reports
    /// an error.
    ///
    /// - Returns: False if the length of a message is invalid. The messages before it have been passed.
    @discardableResult
    package static func parse(_ datagram: UnsafeRawBufferPointer, _ body: (Message) -> Void) -> Bool {
        var rest = datagram[...]
        while !rest.isEmpty {
            let header = UnsafeRawBufferPointer(rebasing: rest)
            guard let length = header.number(at: 0, as: UInt32.self), let type = header.number(at: 4, as: UInt16.self),
                length >= headerLength, length <= header.count
            else { return false }
            let content = UnsafeRawBufferPointer(rebasing: header[Int(headerLength)..<Int(length)])
            if let message = message(type, content) { body(message) }
            rest = rest.dropFirst(aligned(Int(length)))
        }
        return true
    }

    private static func message(_ type: UInt16, _ content: UnsafeRawBufferPointer) -> Message? {
        switch type {
        case 2:  // NLMSG_ERROR; 0 is an acknowledgement
            let code = content.number(at: 0, as: Int32.self) ?? 0
            return code == 0 ? nil : .failed(code == .min ? .max : -code)
        case 3: return .done
        case 16: return link(content).map { .change(.link($0, $1)) }
        case 17: return link(content).map { index, _ in .change(.linkRemoved(index)) }
        case 20: return address(content).map { .change($1 ? .address($0) : .addressRemoved($0)) }
        case 21: return address(content).map { address, _ in .change(.addressRemoved(address)) }
        case 24: return route(content).map { .change(.route($0)) }
        case 25: return route(content).map { .change(.routeRemoved($0)) }
        default: return nil
        }
    }

    // MARK: Messages

    /// RTM_NEWLINK and RTM_DELLINK: struct ifinfomsg. Messages of bridges have another family and are ignored.
    private static func link(_ content: UnsafeRawBufferPointer) -> (Int32, NetworkTables.Link)? {
        guard content.number(at: 0, as: UInt8.self) == 0, let index = content.number(at: 4, as: Int32.self),
            let flags = content.number(at: 8, as: UInt32.self)
        else { return nil }
        var name = ""
        attributes(of: content, from: 16) { type, value in
            if type == 3 { name = String(decoding: value.prefix { $0 != 0 }.prefix(15), as: UTF8.self) }
        }
        // IFF_UP, IFF_LOOPBACK, IFF_RUNNING
        let isRunning = flags & 0x1 != 0 && flags & 0x40 != 0 && flags & 0x8 == 0
        return (index, NetworkTables.Link(name: name, isRunning: isRunning))
    }

    /// RTM_NEWADDR and RTM_DELADDR: struct ifaddrmsg.
    ///
    /// - Returns: The address, and whether it can be used: it is not tentative and not a duplicate.
    private static func address(_ content: UnsafeRawBufferPointer) -> (NetworkTables.Address, isUsable: Bool)? {
        guard let family = family(content), var flags = content.number(at: 2, as: UInt8.self).map(UInt32.init),
            let scope = content.number(at: 3, as: UInt8.self), scope <= 200,  // RT_SCOPE_UNIVERSE, RT_SCOPE_SITE
            let index = content.number(at: 4, as: Int32.self)
        else { return nil }
        var address: (high: UInt64, low: UInt64)?
        var local: (high: UInt64, low: UInt64)?
        attributes(of: content, from: 8) { type, value in
            switch type {
            case 1: address = bytes(value, family)
            case 2: local = bytes(value, family)
            case 8: flags = value.number(at: 0, as: UInt32.self) ?? flags
            default: break
            }
        }
        guard let used = local ?? address else { return nil }
        // IFA_F_DADFAILED, IFA_F_TENTATIVE
        return (.init(family: family, interface: index, high: used.high, low: used.low), flags & 0x48 == 0)
    }

    /// RTM_NEWROUTE and RTM_DELROUTE: struct rtmsg. Nil unless the route is a unicast default route.
    private static func route(_ content: UnsafeRawBufferPointer) -> NetworkTables.Route? {
        guard let family = family(content), content.number(at: 1, as: UInt8.self) == 0,
            content.number(at: 7, as: UInt8.self) == 1,  // RTN_UNICAST
            let flags = content.number(at: 8, as: UInt32.self), flags & 0x200 == 0,  // RTM_F_CLONED
            let table = content.number(at: 4, as: UInt8.self)
        else { return nil }
        var route = NetworkTables.Route(family: family, table: UInt32(table), interface: 0)
        attributes(of: content, from: 12) { type, value in
            switch type {
            case 4: route.interface = value.number(at: 0, as: Int32.self) ?? 0
            case 5:
                if let gateway = bytes(value, family) {
                    (route.gatewayHigh, route.gatewayLow) = (gateway.high, gateway.low)
                }
            case 6: route.metric = value.number(at: 0, as: UInt32.self) ?? 0
            case 9:  // RTA_MULTIPATH: the first struct rtnexthop
                if let interface = value.number(at: 4, as: Int32.self) { route.interface = interface }
            case 15: route.table = value.number(at: 0, as: UInt32.self) ?? route.table
            default: break
            }
        }
        return route.interface == 0 ? nil : route
    }

    // MARK: Parts

    private static func family(_ content: UnsafeRawBufferPointer) -> NetworkTables.Family? {
        switch content.number(at: 0, as: UInt8.self) {
        case 2: .ipv4
        case 10: .ipv6
        default: nil
        }
    }

    private static func bytes(
        _ value: UnsafeRawBufferPointer, _ family: NetworkTables.Family
    ) -> (high: UInt64, low: UInt64)? {
        switch family {
        case .ipv4: value.number(at: 0, as: UInt32.self).map { (0, UInt64(UInt32(bigEndian: $0))) }
        case .ipv6:
            if let high = value.number(at: 0, as: UInt64.self), let low = value.number(at: 8, as: UInt64.self) {
                (UInt64(bigEndian: high), UInt64(bigEndian: low))
            } else {
                nil
            }
        }
    }

    /// Calls `body` for each attribute (struct rtattr) after the first `offset` bytes.
    private static func attributes(
        of content: UnsafeRawBufferPointer, from offset: Int, _ body: (UInt16, UnsafeRawBufferPointer) -> Void
    ) {
        var rest = content.dropFirst(offset)
        while !rest.isEmpty {
            let attribute = UnsafeRawBufferPointer(rebasing: rest)
            guard let length = attribute.number(at: 0, as: UInt16.self),
                let type = attribute.number(at: 2, as: UInt16.self), length >= 4, length <= attribute.count
            else { return }
            // The two highest bits are flags (NLA_F_NESTED, NLA_F_NET_BYTEORDER).
            body(type & 0x3FFF, UnsafeRawBufferPointer(rebasing: attribute[4..<Int(length)]))
            rest = rest.dropFirst(aligned(Int(length)))
        }
    }

    private static func aligned(_ length: Int) -> Int { (length + 3) & ~3 }

    private static let headerLength: UInt32 = 16
}

extension UnsafeRawBufferPointer {
    /// Returns the number at `offset` in the byte order of the machine. Nil if the buffer is too short.
    fileprivate func number<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number? {
        guard count >= offset + MemoryLayout<Number>.size else { return nil }
        return loadUnaligned(fromByteOffset: offset, as: type)
    }
}
