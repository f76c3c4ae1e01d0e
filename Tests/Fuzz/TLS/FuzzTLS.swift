import CNIOBoringSSL
import NightjarCrypto

/// Fuzzes the TLS client with the bytes of a server. The first byte of the input selects the settings, and the second
/// one the boundaries of the parts in which the other bytes arrive. Aborts if one of these invariants is violated:
///
/// - The result does not depend on the boundaries.
/// - The output of the client and the number of its sessions are bounded.
/// - A failed or ended connection stays failed or ended.
/// - Nothing traps, hangs or grows without bound.
func fuzzTLS(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 2, let scenario = Scenario(start[0]) else { return 0 }
    let bytes = UnsafeRawBufferPointer(start: start + 2, count: count - 2)
    var whole = ClientRun(scenario)
    whole.feed(bytes)
    var parts = ClientRun(scenario)
    var random = UInt32(start[1]) + 1
    var rest = bytes
    while !rest.isEmpty {
        random = random &* 1_664_525 &+ 1_013_904_223
        let size = min(rest.count, start[1] == 0 ? 1 : Int(random >> 16) % (start[1] < 128 ? 16 : 700) + 1)
        parts.feed(UnsafeRawBufferPointer(rebasing: rest[..<size]))
        rest = UnsafeRawBufferPointer(rebasing: rest[size...])
    }
    require(whole.received == parts.received, "the decrypted data depends on the boundaries")
    require(whole.state == parts.state, "the state depends on the boundaries: \(whole.state), \(parts.state)")
    whole.finish()
    parts.finish()
    return 0
}

/// The settings of a client.
struct Scenario {
    let context: TLSContext
    let options: TLSConnection.Options

    /// - Parameter number: Bits: 0 TLS 1.2 only, 1 verification, 2 ALPN, 3 no hybrid key exchange, 4 weak algorithms,
    ///   5 a key share for one group only.
    init?(_ number: UInt8) {
        guard let context = Scenario.contexts[Int(number & 0b10111)] else { return nil }
        self.context = context
        var options = TLSConnection.Options()
        options.serverName = "localhost"
        options.offersPostQuantum = number & 8 == 0
        if number & 32 != 0 { options.expectedGroup = UInt16(SSL_GROUP_X25519) }
        options.check = { chain in
            for certificate in chain { read(certificate) }
            return nil
        }
        self.options = options
    }

    /// The contexts by number.
    nonisolated(unsafe) private static let contexts: [TLSContext?] = (0..<32).map { number in
        var settings = TLSSettings()
        if number & 1 != 0 { settings.versions = .v1_2 ... .v1_2 }
        settings.verifiesCertificates = number & 2 != 0
        if number & 4 != 0 { settings.applicationProtocols = ["http/1.1"] }
        if number & 16 != 0 { settings.weakAlgorithms = Set(WeakAlgorithm.allCases) }
        // scripts/fuzz runs in the root of the repository.
        guard let authority = try? Certificate.contents(ofFile: "Tests/Fuzz/tls-authority.pem") else { return nil }
        settings.authorities = .pem(authority)
        return try? TLSContext(settings)
    }
}

/// One connection that receives the bytes of the input.
struct ClientRun {
    enum State: Equatable { case handshaking, open, ended, failed(String) }

    private let connection: TLSConnection?
    private(set) var state = State.handshaking
    private(set) var received: [UInt8] = []
    /// Whether the handshake was completed.
    private var isOpen = false

    init(_ scenario: Scenario) {
        RAND_reset_for_fuzzing()
        connection = try? TLSConnection(scenario.context, scenario.options)
        feed(UnsafeRawBufferPointer(start: nil, count: 0))
        require(state == .handshaking, "the connection fails without input")
    }

    mutating func feed(_ bytes: UnsafeRawBufferPointer) {
        guard let connection else { return }
        var input = bytes
        do {
            if state == .handshaking, try connection.handshake(&input) {
                state = .open
                isOpen = true
                readResults(connection)
            }
            if state == .open { try decrypt(&input, connection) }
        } catch let error as TLSFailure {
            require(!error.detail.isEmpty, "an error without a detail")
            state = .failed(error.detail)
        } catch {
            require(false, "\(error)")
        }
        require(connection.pendingOutput.count < 64 << 10, "\(connection.pendingOutput.count) bytes of output")
        connection.removeOutput()
        let sessions = connection.takeSessions()
        require(sessions.count <= 4, "\(sessions.count) sessions")
    }

    private mutating func decrypt(_ input: inout UnsafeRawBufferPointer, _ connection: TLSConnection) throws {
        var part = [UInt8](repeating: 0, count: 100)
        while true {
            let result = try part.withUnsafeMutableBytes { try connection.decrypt(&input, into: $0) }
            switch result {
            case .bytes(let count):
                require((1...100).contains(count), "\(count) bytes")
                received += part[..<count]
            case .needsInput:
                require(input.isEmpty, "input remains")
                return
            case .ended:
                state = .ended
                return
            }
        }
    }

    /// Uses the connection after the last input.
    mutating func finish() {
        guard let connection else { return }
        readResults(connection)
        if state == .open || state == .ended {
            _ = try? [UInt8](repeating: 1, count: 20_000).withUnsafeBytes { try connection.encrypt($0) }
        }
        if case .failed = state { requireFailure(connection) }
        connection.close()
        require(connection.pendingOutput.count < 64 << 10, "\(connection.pendingOutput.count) bytes of output")
        connection.removeOutput()
    }

    private func requireFailure(_ connection: TLSConnection) {
        var nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        var byte: UInt8 = 0
        let succeeds = withUnsafeMutableBytes(of: &byte) { output in
            isOpen
                ? (try? connection.decrypt(&nothing, into: output)) != nil
                : (try? connection.handshake(&nothing)) != nil
        }
        require(!succeeds, "a failed connection can be used")
    }

    private func readResults(_ connection: TLSConnection) {
        _ = (connection.applicationProtocol, connection.version, connection.cipher, connection.group)
        _ = connection.isResumed
        for certificate in connection.servedChain { read(certificate) }
    }
}

private func read(_ certificate: Certificate) {
    _ = (certificate.subject, certificate.issuer, certificate.validity, certificate.keyDescription)
    _ = (certificate.dnsNames, certificate.addresses, certificate.publicKeyDigest, certificate.der)
}

func require(_ holds: Bool, _ claim: @autoclosure () -> String) {
    if !holds { fatalError(claim()) }
}
