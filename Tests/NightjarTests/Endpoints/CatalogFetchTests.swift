import Foundation
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

@testable import Nightjar

@Suite struct CatalogFetchTests {
    private static let main = """
        {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "servers": [{"url": "/v2"}],
         "paths": {"/items/{id}": {"$ref": "paths/item.json"}}}
        """
    private static let item = """
        {"get": {"operationId": "item", "responses": {"200": {"description": "it"}},
          "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}}]}}
        """

    private func respond(_ text: String, _ fields: [(String, String)] = []) -> [ScriptedTransport.Step] {
        [.head(200, [("Content-Type", "application/json")] + fields), .body(text), .end]
    }

    private func sent(_ transport: ScriptedTransport) -> [String] {
        transport.log.withLock { $0.heads.map { String($0.prefix { $0 != "\r\n" }) } }
    }

    @Test func documentAndItsReferencesAreFetched() async throws {
        let transport = ScriptedTransport([respond(Self.main), respond(Self.item)])
        let api = try client(transport)
        let catalog = try await api.loadCatalog(from: "http://api.test/spec/openapi.json")
        #expect(catalog.title == "T")
        #expect(catalog.servers == ["http://api.test/v2"])
        #expect(try catalog.operation("item").request(["id": 4]).target == "/items/4")
        #expect(sent(transport) == ["GET /spec/openapi.json HTTP/1.1", "GET /spec/paths/item.json HTTP/1.1"])
    }

    @Test func locationMayBeRelativeToTheBaseURL() throws {
        let transport = ScriptedTransport([respond(Self.main), respond(Self.item)])
        let api = try client(transport)
        #expect(try api.loadCatalogBlocking(from: "url:/openapi.json").operations.count == 1)
        #expect(sent(transport).first == "GET /v1/openapi.json HTTP/1.1")
    }

    @Test func withoutABaseURLEndpointsNameTheirServer() async throws {
        let transport = ScriptedTransport([respond(Self.main), respond(Self.item)])
        let api = try client(transport) { $0.baseURL = nil }
        let catalog = try await api.loadCatalog(from: "http://api.test/openapi.json")
        #expect(try catalog.operation("item").request(["id": 4]).target == "http://api.test/v2/items/4")
    }

    @Test func unchangedDocumentIsNotTransferredAgain() async throws {
        let fields = [("ETag", "\"1\""), ("Cache-Control", "no-cache")]
        let transport = ScriptedTransport([
            respond(Self.main, fields), respond(Self.item, fields), [.head(304, fields), .end],
            [.head(304, fields), .end],
        ])
        let api = try client(transport) { $0.cacheSettings = CacheStorage.Settings() }
        _ = try await api.loadCatalog(from: "http://api.test/openapi.json")
        let again = try await api.loadCatalog(from: "http://api.test/openapi.json")
        #expect(again.operations.map(\.name) == ["item"])
        #expect(transport.log.withLock { $0.heads[2] }.contains("If-None-Match: \"1\"\r\n"))
    }

    @Test func failedFetchIsReported() async throws {
        let transport = ScriptedTransport([[.head(404), .end], respond("{"), [.fail(.connectionLost)]])
        let api = try client(transport)
        for kind in [ErrorKind.notFound, .decoding, .connectionLost] {
            let error = await #expect(throws: NightjarError.self) {
                try await api.loadCatalog(from: "http://api.test/openapi.json")
            }
            #expect(error?.kind == kind)
        }
        let missing = #expect(throws: NightjarError.self) { try api.loadCatalogBlocking(from: "/nowhere/a.yaml") }
        #expect(missing?.kind == .storage)
    }

    /// Ten parts of 60 MiB, of which the first six are requested concurrently.
    @Test func fetchedDocumentsAreBounded() throws {
        let paths = (0..<10).map { "\"/\($0)\": {\"$ref\": \"\($0).json\"}" }.joined(separator: ", ")
        let main = #"{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {\#(paths)}}"#
        let part = "{" + String(repeating: " ", count: 60 << 20)
        let transport = ScriptedTransport([respond(main)] + Array(repeating: respond(part), count: 10))
        let error = #expect(throws: NightjarError.self) {
            try client(transport).loadCatalogBlocking(from: "http://api.test/openapi.json")
        }
        #expect(error?.kind == .tooLarge)
        #expect(sent(transport).count < 11)
    }

    @Test func hooksRunOnTheWaitingThread() throws {
        let threads = Mutex<[pthread_t]>([])
        let note = { @Sendable in threads.withLock { $0.append(pthread_self()) } }
        let transport = ScriptedTransport([respond(Self.main), respond(Self.item), [.head(404), .end]])
        let api = try client(transport) {
            $0.hooks = CallHooks(
                runOnLoop: false, before: { _ throws(NightjarError) in note() }, after: { _, _ in note() })
        }
        #expect(try api.loadCatalogBlocking(from: "url:/openapi.json").operations.count == 1)
        #expect(threads.withLock { $0.count } == 4)
        #expect(throws: NightjarError.self) { try api.loadCatalogBlocking(from: "url:/openapi.json") }
        let here = pthread_self()
        #expect(threads.withLock { $0.count } == 6)
        #expect(threads.withLock { $0.allSatisfy { pthread_equal($0, here) != 0 } })
    }

    /// After an error, the remaining calls end before the blocking function returns, on its thread.
    @Test func errorIsReleasedOnTheWaitingThread() throws {
        let threads = Mutex<[pthread_t]>([])
        let main = """
            {"openapi": "3.1.0", "info": {"title": "T", "version": "1"},
             "paths": {"/a": {"$ref": "a.json"}, "/b": {"$ref": "b.json"}, "/c": {"$ref": "c.json"}}}
            """
        let transport = ScriptedTransport([respond(main), [.fail(.connectionLost)]])
        let api = try client(transport) {
            $0.hooks = CallHooks(
                runOnLoop: false, before: { _ throws(NightjarError) in },
                after: { _, _ in threads.withLock { $0.append(pthread_self()) } })
        }
        #expect(throws: NightjarError.self) { try api.loadCatalogBlocking(from: "url:/openapi.json") }
        let here = pthread_self()
        #expect(threads.withLock { $0.count } == 4)
        #expect(threads.withLock { $0.allSatisfy { pthread_equal($0, here) != 0 } })
    }

    @Test func loadingCanBeCancelled() async throws {
        let api = try client(ScriptedTransport([]))
        let loading = Task { try await api.loadCatalog(from: "http://api.test/openapi.json") }
        loading.cancel()
        let error = await #expect(throws: NightjarError.self) { try await loading.value }
        #expect(error?.kind == .cancelled)
    }

    @Test func fileIsReadByTheClient() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("nightjar-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("paths"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("openapi.json").path
        let absolute = Self.main.replacingOccurrences(of: "\"/v2\"", with: "\"https://files.test/v2\"")
        try absolute.write(toFile: path, atomically: true, encoding: .utf8)
        try Self.item.write(
            to: folder.appendingPathComponent("paths/item.json"), atomically: true, encoding: .utf8)

        var configuration = Configuration()
        try configuration.merge(json: #"{"openapi": "\#(path)", "endpoints": {"home": {"path": "/"}}}"#)
        let known = try configuration.loadingOpenAPI()
        #expect(known.catalog?.operations.map(\.name) == ["item", "home"])
        #expect(known.baseURL == "https://files.test/v2")
        let api = try client(ScriptedTransport([]))
        #expect(try api.loadCatalogBlocking(from: path).operations.count == 1)

        let error = #expect(throws: NightjarError.self) { try Catalog(openAPI: "https://api.test/openapi.json") }
        #expect(
            error?.message == #"a file is required, but "https://api.test/openapi.json" is a URL; load it with a "#
                + "client (loadCatalog, load_openapi)")
    }

    // Reading a pipe without a writer would never end.
    @Test func referencesOfAFileAreFiles() throws {
        let folder = try TemporaryDirectory()
        try folder.write("main.json", Bytes(Array(Self.main.utf8)))
        mkdir(folder.file("paths"), 0o700)
        mkfifo(folder.file("paths/item.json"), 0o600)
        let catalog = try Catalog(openAPI: folder.file("main.json"))
        #expect(catalog.operations.isEmpty)
        #expect(catalog.notes.contains { $0.contains("is not a regular file") }, "\(catalog.notes)")
    }

    /// An untrusted document must not read files outside of its folder.
    @Test func documentRefersOnlyToFilesOfItsFolder() throws {
        let folder = try TemporaryDirectory()
        for name in ["api", "api/paths", "secret"] { mkdir(folder.file(name), 0o700) }
        try folder.write("secret/item.json", Bytes(Array(#"{"get": {"operationId": "leaked"}}"#.utf8)))
        func load(_ reference: String, folder root: String? = nil) throws -> Catalog {
            let text =
                #"{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {"/a": {"$ref": "REF"}}}"#
            let document = text.replacing("REF", with: reference)
            try folder.write("api/main.json", Bytes(Array(document.utf8)))
            return try Catalog(openAPI: folder.file("api/main.json"), folder: root)
        }
        let outside = ["../secret/item.json", folder.file("secret/item.json"), "paths/../../secret/item.json"]
        for reference in outside {
            let catalog = try load(reference)
            #expect(catalog.operations.isEmpty)
            #expect(catalog.notes.contains { $0.contains("openapi_folder") }, "\(catalog.notes)")
            #expect(try load(reference, folder: folder.path).operations.map(\.name) == ["leaked"])
        }
        symlink(folder.file("secret/item.json"), folder.file("api/paths/link.json"))
        #expect(try load("paths/link.json").operations.isEmpty)
        try folder.write("api/paths/item.json", Bytes(Array(#"{"get": {"operationId": "own"}}"#.utf8)))
        #expect(try load("paths/item.json").operations.map(\.name) == ["own"])
    }
}
