import Foundation
import NIOCore
import Nightjar
import NightjarDemo
import NightjarStorage
import NightjarTestSupport
import Synchronization
import Testing

/// Runs scripts with the `nightjar` executable that was built with the tests.
enum CacheProcess {
    static func run(
        _ script: String, in folder: TemporaryDirectory, through shell: String? = nil
    ) throws -> ToolResult {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("nightjar").path
        let file = try folder.write("script-\(UInt32.random(in: 0...UInt32.max)).lua", Bytes(Array(script.utf8)))
        guard let shell else { return try NightjarTestSupport.run(program, [file], within: .seconds(60)) }
        return try NightjarTestSupport.run(
            "sh", ["-c", "\(shell) && exec '\(program)' '\(file)'"], within: .seconds(60))
    }
}

/// Cache folders that are shared or unusable.
@Suite struct CacheFolderTests {
    private let demo: CacheDemo
    private let parent: TemporaryDirectory
    private let folder: String
    private let target = "/cache/a?control=max-age=600&etag=strong&length=30000"

    init() throws {
        demo = try CacheDemo()
        parent = try TemporaryDirectory()
        folder = parent.file("cache")
    }

    private var settings: CacheStorage.Settings { .init(disk: 50 << 20, folder: folder) }

    private func script(times: Int = 1) -> String {
        """
        local nightjar = require "nightjar"
        local api = nightjar.client {
          base_url = "http://127.0.0.1:\(demo.port)", cache = { disk = "50MB", path = "\(folder)" },
          log = { level = "warning", write = print },
        }
        for i = 1, \(times) do
          local res = api:get("\(target)&seed=" .. i)
          print(#res.body, res.source)
        end
        nightjar.sleep(0.3)
        """
    }

    // MARK: Shared

    @Test func twoClientsShareAFolder() throws {
        let first = try demo.client(settings)
        let second = try demo.client(settings)
        let bytes = try first.get(target).bytes
        try first.cache?.flush()
        let response = try second.get(target)
        #expect(response.source == .cache && response.bytes == bytes)
        #expect(demo.requests("/cache/a") == 1)
        // Other clients do not use an entry that a write has invalidated.
        try first.write(target)
        try first.cache?.flush()
        let third = try demo.client(settings)
        #expect(try third.get(target).version == 2)
        #expect(demo.requests("/cache/a") == 3)
    }

    @Test func twoClientsShareOneCache() throws {
        let cache = try CacheStorage(settings)
        let clients = try (0..<2).map { _ in try demo.client(nil) { $0.cache = cache } }
        try clients[0].get(target)
        #expect(try clients[1].get(target).source == .cache)
        try clients[1].write(target)
        #expect(try clients[0].get(target).version == 2)
        #expect(demo.requests("/cache/a") == 3)
    }

    /// The entry is replaced during its validation. The 304 must not change the new entry in memory or on disk.
    @Test func validationUpdatesTheValidatedEntry() throws {
        let client = try demo.client(settings)
        let target = "/cache/a?control=no-cache&etag=strong&delay=0.5"
        try client.get(target)
        let queue = CompletionQueue()
        let results = CallResults()
        try client.start(.cached(target), on: queue, results.handlers(0))
        try eventually("the server received the request") { demo.requests("/cache/a") == 2 }
        var headers = Headers()
        try headers.add("Cache-Control", "max-age=600")
        try headers.add("ETag", "\"planted\"")
        try client.insert(headers: headers, body: ByteBuffer(string: "planted"), for: Request(.get, target))
        results.wait(for: 1, on: queue)
        #expect(try results[0]?.get().source == .revalidated && demo.notModified("/cache/a") == 1)
        try client.cache?.flush()
        for each in [client, try demo.client(settings)] {
            let response = try each.get(target, policy: .cacheOnly)
            #expect((response.text == "planted") == (response.headers["ETag"] == "\"planted\""))
        }
    }

    /// A second client must find the header fields that a 304 has updated.
    @Test func validationIsStoredOnDisk() throws {
        let client = try demo.client(settings)
        let target = "/cache/a?control=max-age=3&etag=strong"
        try client.get(target)
        try eventually("the entry is stale", within: .seconds(10)) {
            try (client.get(target, policy: .cacheOnly).headers["Age"].flatMap { Int($0) } ?? 0) > 3
        }
        #expect(try client.get(target).source == .revalidated)
        try client.cache?.flush()
        let other = try demo.client(settings)
        #expect(try other.get(target).source == .cache && demo.requests("/cache/a") == 2)
    }

    @Test func twoProcessesShareAFolder() throws {
        let first = try CacheProcess.run(script(), in: parent)
        #expect(first.text == "30000\tnetwork\n", "\(first.errors)")
        let client = try demo.client(settings)
        let response = try client.get(target + "&seed=1")
        #expect(response.source == .cache && DemoContent.isIntact(response.bytes))
        let other = try client.get(target + "&seed=2").bytes
        try client.cache?.flush()
        let second = try CacheProcess.run(script(times: 2), in: parent)
        #expect(second.text == "30000\tcache\n30000\tcache\n", "\(second.text)\(second.errors)")
        #expect(DemoContent.isIntact(other) && demo.requests("/cache/a") == 2)
    }

    // MARK: Unusable folders

    /// Moves the write-ahead log of the index, which an exiting process leaves behind, into the database file.
    private func settle() {
        let cache = DiskCache(folder: folder, maximumBytes: 50 << 20)
        _ = cache.statistics
        cache.close()
    }

    /// Expects that calls succeed without the folder, and that the number of logged warnings is in `reported`.
    private func expectCallsContinue(reported: ClosedRange<Int> = 1...1, location: SourceLocation = #_sourceLocation)
        throws
    {
        let lines = Mutex<[String]>([])
        let client = try demo.client(.init(memory: 0, disk: 50 << 20, folder: folder)) {
            $0.log = LogSink(level: .warning) { line in lines.withLock { $0.append(line.message) } }
        }
        let before = demo.requests("/cache/a")
        for round in 0..<6 {
            let (response, content) = try client.streamed(target)
            #expect(response.status == 200 && DemoContent.isIntact(content), "\(round)", sourceLocation: location)
            try client.cache?.flush()
        }
        if reported == 1...1, !FileManager.default.isWritableFile(atPath: folder) {
            #expect(demo.requests("/cache/a") == before + 6, sourceLocation: location)
        }
        let reportedLines = lines.withLock { $0 }
        #expect(reported.contains(reportedLines.count), "\(reportedLines)", sourceLocation: location)
    }

    @Test func folderThatCannotBeCreatedIsNotAnError() throws {
        try parent.write("cache", "a file is in its place")
        try expectCallsContinue()
    }

    @Test func readOnlyFolderIsNotAnError() throws {
        let user = geteuid() == 0 ? "chown -R 65534 '\(folder)' && " : ""
        mkdir(folder, 0o755)
        let shell = "\(user)chmod 555 '\(folder)'"
        let result: ToolResult
        if geteuid() == 0 {
            // Root can write to read-only folders, so the script runs as another user.
            chmod(parent.path, 0o755)
            guard FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") else { return }
            let file = try parent.write("s.lua", Bytes(Array(script(times: 3).utf8)))
            chmod(file, 0o644)
            let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
                .deletingLastPathComponent().appendingPathComponent("nightjar").path
            let call = "exec setpriv --reuid=65534 --clear-groups '\(program)' '\(file)'"
            result = try run("sh", ["-c", "\(shell) && \(call)"])
            if result.status == 126 || result.status == 127 { return }
        } else {
            result = try CacheProcess.run(script(times: 3), in: parent, through: shell)
        }
        chmod(folder, 0o700)
        let lines = result.text.split(separator: "\n")
        #expect(lines.filter { $0 == "30000\tnetwork" }.count == 3, "\(result.text)\(result.errors)")
        #expect(lines.filter { $0.hasPrefix("warning") }.count == 1, "\(result.text)\(result.errors)")
    }

    /// A file size limit has the same effect as a full disk. The unit of `ulimit -f` is 512 bytes, in some shells 1024
    /// bytes.
    @Test(arguments: [1, 8, 32, 80]) func fullDiskIsNotAnError(_ kibibytes: Int) throws {
        guard !isSanitized else { return }  // the limit also applies to ThreadSanitizer's files
        let result = try CacheProcess.run(script(times: 12), in: parent, through: "ulimit -f \(kibibytes)")
        #expect(result.status == 0, "\(result.errors)")
        let lines = result.text.split(separator: "\n")
        #expect(lines.filter { $0 == "30000\tnetwork" }.count == 12, "\(result.text)\(result.errors)")
        #expect((1...2).contains(lines.filter { $0.hasPrefix("warning") }.count), "\(result.text)\(result.errors)")
    }

    @Test func garbageInAFolderIsNotAnError() throws {
        _ = try CacheProcess.run(script(), in: parent)
        settle()
        var random = SeededRandom(seed: 11)
        try parent.write("cache/index.db", Bytes(random.bytes(20_000)))
        try expectCallsContinue(reported: 1...1)
    }

    @Test func corruptBodiesAreNotReturned() throws {
        let large = "/cache/a?control=max-age=600&etag=strong&length=30000&seed=1"
        _ = try CacheProcess.run(script(), in: parent)
        var random = SeededRandom(seed: 12)
        let files = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []
        let bodies = files.filter { $0.utf8.count == 65 }
        #expect(!bodies.isEmpty)
        for body in bodies { try parent.write("cache/" + body, Bytes(random.bytes(30_000))) }
        let second = try demo.client(.init(memory: 0, disk: 50 << 20, folder: folder))
        // A call that has started to read a corrupt body fails. Later calls get the server's response.
        for _ in 0..<3 {
            do {
                let content = try second.streamed(large).content
                #expect(DemoContent.isIntact(content))
            } catch let error as NightjarError { #expect(error.kind == .storage, "\(error)") }
        }
        #expect(DemoContent.isIntact(try second.streamed(large).content) && demo.requests("/cache/a") > 1)
    }

    @Test func folderOfALaterReleaseIsNotChanged() throws {
        _ = try CacheProcess.run(script(), in: parent)
        settle()
        // Byte 63 is the least significant byte of the user version in the SQLite header.
        var bytes = try parent.read("cache/index.db")
        bytes[63] = 99
        try parent.write("cache/index.db", Bytes(bytes))
        try expectCallsContinue()
        #expect(try parent.read("cache/index.db") == bytes)
    }
}
