import NightjarHTTP
import NightjarTransport

/// Fuzzes the parser of netlink datagrams and the state that its messages change. Aborts if one of these invariants is
/// violated:
///
/// - A prefix of a datagram has a prefix of its messages.
/// - A repeated message changes nothing.
/// - A burst of changes is due within a second.
/// - An online machine has an interface.
func fuzzNetlink(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    let datagram = UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
    let messages = messages(in: datagram)
    let half = firstHalf(datagram)
    require(messages.starts(with: half), "the messages depend on later bytes")

    var tables = NetworkTables()
    var connectivity = Connectivity()
    _ = connectivity.started(NetworkTables(), nil)
    var now: UInt64 = 1
    for case .change(let change) in messages {
        tables.apply(change)
        require(!tables.apply(change), "a repeated message is a change: \(change)")
        connectivity.notified(change, now: now)
        now &+= 1_000_000
    }
    require(tables.isOnline == (tables.interface != nil), "an online machine has no interface")
    if let deadline = connectivity.deadline {
        require(connectivity.isDue(at: deadline), "the burst is not due at its deadline")
        _ = connectivity.read(tables)
        require(connectivity.status.isOnline == tables.isOnline, "the status differs from the tables")
    }
    return 0
}

private func messages(in datagram: UnsafeRawBufferPointer) -> [NetlinkParser.Message] {
    var messages: [NetlinkParser.Message] = []
    NetlinkParser.parse(datagram) { messages.append($0) }
    return messages
}

/// The messages in the first half of the datagram.
private func firstHalf(_ datagram: UnsafeRawBufferPointer) -> [NetlinkParser.Message] {
    messages(in: UnsafeRawBufferPointer(rebasing: datagram[..<(datagram.count / 2)]))
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
