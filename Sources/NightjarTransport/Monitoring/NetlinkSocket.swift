import CNetworkState
import NightjarHTTP
import NightjarSystem

/// A netlink socket, which its owner closes.
struct NetlinkSocket {
    let descriptor: CInt
    private let buffer: UnsafeMutableRawBufferPointer

    /// - Parameter notifies: Whether the socket receives changes.
    /// - Returns: Nil if the system denies the socket, for example in a sandbox, or has no descriptor left.
    init?(notifies: Bool) {
        let descriptor = cns_netlink_open(notifies)
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
        buffer = .allocate(byteCount: NetlinkSocket.longestDatagram, alignment: 8)
    }

    func close() {
        NightjarSystem.close(descriptor)
        buffer.deallocate()
    }

    enum Received {
        /// A datagram was received and its messages were passed.
        case datagram
        case nothing
        /// Messages were lost.
        case lost
        case failed
    }

    /// Receives one datagram. Does not block.
    func receive(_ body: (NetlinkParser.Message) -> Void) -> Received {
        let count = cns_netlink_receive(descriptor, buffer.baseAddress, buffer.count)
        guard count > 0 else { return count == 0 ? .nothing : count == -Int(ENOBUFS) ? .lost : .failed }
        let datagram = UnsafeRawBufferPointer(rebasing: buffer[..<min(count, buffer.count)])
        return NetlinkParser.parse(datagram, body) ? .datagram : .lost
    }

    /// Reads the links, addresses and routes of the system. Takes about 0.1 ms.
    ///
    /// - Returns: Nil if the system does not report them.
    static func readTables() -> NetworkTables? {
        guard let socket = NetlinkSocket(notifies: false) else { return nil }
        defer { socket.close() }
        var tables = NetworkTables()
        for (number, table) in [CNS_LINKS, CNS_ADDRESSES, CNS_ROUTES].enumerated() {
            guard cns_netlink_request(socket.descriptor, table, UInt32(number) + 1) == 0,
                socket.readTable(into: &tables)
            else { return nil }
        }
        return tables
    }

    /// Returns false if reading the table failed. Reads only the first part of a very large table.
    private func readTable(into tables: inout NetworkTables) -> Bool {
        var isDone = false
        // Tables of routers can be very large. The limit bounds the time. The rest of the table is ignored.
        for _ in 0..<NetlinkSocket.mostDatagrams {
            var hasFailed = false
            let received = receive { message in
                switch message {
                case .change(let change): tables.apply(change)
                case .done: isDone = true
                case .failed: hasFailed = true
                }
            }
            if isDone { return true }
            guard case .datagram = received, !hasFailed else { return false }
        }
        return true
    }

    /// The kernel's datagrams have at most 32 KiB, except for links with very many attributes.
    private static let longestDatagram = 64 * 1024
    private static let mostDatagrams = 1024
}
