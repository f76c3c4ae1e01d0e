import Glibc
import NIOSSL
import Nightjar
import NightjarTestSupport
import Synchronization
import Testing

/// The file to which a client writes the keys of its TLS connections.
@Suite struct KeyLogTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.file("keys") }

    init() throws { folder = try TemporaryDirectory() }

    private func client(_ file: String?, _ lines: Lines = Lines()) throws -> Client {
        var configuration = Configuration.loopback
        configuration.transport.tls.certificateAuthorityFile = try TestCertificates.shared().authority
        configuration.transport.tls.keyLogFile = file
        configuration.log = LogSink(level: .warning) { line in lines.all.withLock { $0.append(line) } }
        return try Client(configuration)
    }

    private final class Lines: Sendable {
        let all = Mutex<[LogSink.Line]>([])
    }

    private func peer(_ version: TLSVersion = .tlsv13) throws -> ScriptedPeer {
        try ScriptedPeer(
            [[.expectRequest, .respond(), .close]], repeatsLast: true, tls: PeerTLS(versions: version...version))
    }

    private func labels() throws -> [String] {
        try String(decoding: folder.read("keys"), as: UTF8.self).split(separator: "\n").map { line in
            let parts = line.split(separator: " ")
            #expect(parts.count == 3 && parts[1].count == 64)
            return String(parts[0])
        }
    }

    @Test func keysOfEachConnectionAreAppended() throws {
        let lines = Lines()
        for version in [TLSVersion.tlsv12, .tlsv13, .tlsv13] {
            let peer = try peer(version)
            let client = try client(path, lines)
            #expect(try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).status == 200)
            client.close()
        }
        let labels = try labels()
        #expect(labels.count { $0 == "CLIENT_RANDOM" } == 1)
        #expect(labels.count { $0 == "CLIENT_TRAFFIC_SECRET_0" } == 2)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let messages = lines.all.withLock { $0 }
        #expect(messages.map(\.level) == [.warning, .warning, .warning])
        #expect(
            messages.first?.message
                == "the keys of TLS connections are written to \"\(path)\" (tls.key_log_file), so anyone who can read this "
                + "file can decrypt the traffic")
    }

    /// Clients with equal settings share the trust store, but each writes to its own file.
    @Test func clientsDoNotShareTheFile() throws {
        let peer = try peer()
        let clients = try [path, folder.file("other"), nil].map { try client($0) }
        #expect(try clients[2].sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).status == 200)
        #expect(try folder.read("keys").isEmpty && folder.read("other").isEmpty)
        #expect(try clients[0].sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).status == 200)
        #expect(try folder.read("other").isEmpty)
        #expect(try labels().count == 5)
    }

    @Test func descriptorIsCloseOnExec() throws {
        let client = try client(path)
        defer { client.close() }
        let descriptors = (0..<65536).filter { (descriptor: CInt) in
            var name = [CChar](repeating: 0, count: 4096)
            let count = max(readlink("/proc/self/fd/\(descriptor)", &name, name.count), 0)
            return name.prefix(count).map(UInt8.init(bitPattern:)) == Array(path.utf8)
        }
        #expect(descriptors.count == 1)
        for descriptor in descriptors { #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0) }
    }

    @Test func invalidFileIsReportedWhenTheClientIsCreated() throws {
        let error = #expect(throws: NightjarError.self) { try client(folder.path) }
        #expect(error?.kind == .storage)
        #expect(error?.message == "opening the key log file \"\(folder.path)\" failed: Is a directory")
        // A FIFO without a reader.
        #expect(mkfifo(folder.file("fifo"), 0o600) == 0)
        let blocked = #expect(throws: NightjarError.self) { try client(folder.file("fifo")) }
        #expect(blocked?.code == ENXIO)
    }

    @Test func failedWriteDoesNotAffectTheConnection() throws {
        let lines = Lines()
        let peer = try peer()
        let client = try client("/dev/full", lines)
        for _ in 0..<2 {
            #expect(try client.sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).status == 200)
        }
        client.close()
        #expect(
            lines.all.withLock { $0.map(\.message) } == [
                "writing TLS keys to \"/dev/full\" failed: No space left on device; the connections are not affected"
            ])
    }

    @Test func environmentHasNoEffect() throws {
        setenv("SSLKEYLOGFILE", path, 1)
        defer { unsetenv("SSLKEYLOGFILE") }
        let peer = try peer()
        #expect(try client(nil).sendBlocking(Request(.get, "https://localhost:\(peer.port)/")).status == 200)
        #expect(access(path, F_OK) != 0)
    }
}
