import NIOCore
import NightjarHTTP

/// Fuzzes the handshakes with a proxy, with whole input and byte by byte. Also fuzzes the parsers of proxy addresses and
/// no_proxy with the same bytes. Aborts if one of these invariants is violated:
///
/// - The result does not depend on how the input is split.
/// - A failure is `connect`, `protocol` or `too_large`, is permanent, and contains neither user name nor password.
/// - An address has a host and a port, and its description contains no credentials.
///
/// The first byte selects the handshake, whether it uses credentials, and the scheme of the target.
func fuzzProxy(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 1 else { return 0 }
    let responses = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    guard !String(decoding: responses, as: UTF8.self).contains("s3cret") else { return 0 }
    let userInfo = start[0] & 1 == 0 ? "" : "s3cret:s3cret@"
    guard let proxy = try? ProxyAddress("socks5h://\(userInfo)p"),
        let url = try? RequestURL(start[0] & 2 == 0 ? "https://name" : "http://[::1]:1")
    else { return 0 }
    let everyByte = Array(responses.indices.dropFirst())
    let outcomes = [[], everyByte].map { cuts in
        start[0] & 4 == 0
            ? outcome(SOCKS5(to: url.origin, through: proxy), responses, cutAt: cuts)
            : outcome(ConnectTunnel(to: url.origin, through: proxy), responses, cutAt: cuts)
    }
    // Bytes after the end of the handshake can be detected only if they arrive together with it.
    if url.origin.isTLS { require(outcomes[0] == outcomes[1], "the result depends on the split: \(outcomes)") }
    require(!outcomes[0].contains("s3cret"), "the user info is shown: \(outcomes[0])")
    checkText(String(decoding: responses, as: UTF8.self))
    return 0
}

private func outcome(_ machine: SOCKS5, _ responses: [UInt8], cutAt cuts: [Int]) -> String {
    var machine = machine
    return reported { () throws(NightjarError) in
        _ = try machine.start()
        var sent = ""
        for piece in pieces(responses, cuts) {
            var buffer = piece
            reading: while true {
                switch try machine.received(&buffer) {
                case .wait: break reading
                case .send(let bytes): sent += "\(bytes.readableBytes) "
                case .open: return sent + "open"
                }
            }
            require(buffer.readableBytes == 0, "it needs more input but has not drained its buffer")
        }
        return sent + machine.endOfStream().message
    } again: { () throws(NightjarError) in
        var more = ByteBuffer(bytes: [5, 0])
        _ = try machine.received(&more)
    }
}

private func outcome(_ machine: ConnectTunnel, _ responses: [UInt8], cutAt cuts: [Int]) -> String {
    var machine = machine
    return reported { () throws(NightjarError) in
        _ = try machine.start()
        for piece in pieces(responses, cuts) {
            var buffer = piece
            if try machine.received(&buffer) { return "open" }
            require(buffer.readableBytes == 0, "it needs more input but has not drained its buffer")
        }
        return machine.endOfStream().message
    } again: { () throws(NightjarError) in
        var more = ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")
        _ = try machine.received(&more)
    }
}

private func pieces(_ bytes: [UInt8], _ cuts: [Int]) -> [ByteBuffer] {
    zip([0] + cuts, cuts + [bytes.count]).map { ByteBuffer(bytes: bytes[$0..<$1]) }
}

private func reported(
    _ conversation: () throws(NightjarError) -> String, again: () throws(NightjarError) -> Void
) -> String {
    do throws(NightjarError) {
        return try conversation()
    } catch {
        require([.connect, .protocol, .tooLarge].contains(error.kind), "an error of kind \(error.kind.name)")
        require(error.message.utf8.count < 4096, "a message that is too long")
        let message = error.message
        do throws(NightjarError) {
            try again()
            require(false, "the failure is not permanent")
        } catch {
            require(error.message == message, "a different failure: \(error.message)")
        }
        // A response is refused as soon as it cannot be valid, so the length of the quoted text depends on the split.
        return error.kind.name + ": " + message.split(separator: "begins with", maxSplits: 1)[0]
    }
}

private func checkText(_ text: String) {
    let exceptions = ProxyExceptions(text)
    for host in ["a", "a.b.", "1.2.3.4", "::1"] { _ = exceptions.contains(host: host) }
    guard let proxy = try? ProxyAddress(text) else { return }
    require(1...65535 ~= proxy.port && !proxy.host.isEmpty, "an invalid address")
    let again = try? ProxyAddress(proxy.description)
    require(again?.authority == proxy.authority && again?.kind == proxy.kind, "\(proxy) is read as another")
    require(!proxy.description.contains("@"), "the user info is shown")
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
