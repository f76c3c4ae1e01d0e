import Foundation
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// Processes that share a folder, are killed, and encounter full disks and limits.
@Suite(.serialized) struct DiskCacheFaultTests {
    private let parent: TemporaryDirectory
    private let folder: String
    private let worker = TokenStoreWorkers.path(of: "CacheWorker")

    init() throws {
        parent = try TemporaryDirectory()
        folder = parent.file("cache")
    }

    /// The number of rounds of ``killedProcessesLeaveAConsistentCache()``. The long run sets `CACHE_HARM_ROUNDS=200`.
    private static let rounds = ProcessInfo.processInfo.environment["CACHE_HARM_ROUNDS"].flatMap { Int($0) } ?? 30

    /// Four processes store, read, evict, sweep and invalidate in one folder. In each round, one of them is killed.
    /// Each process checks each body that it reads.
    @Test func killedProcessesLeaveAConsistentCache() throws {
        var random = SeededRandom(seed: 7)
        let workers = TokenStoreWorkers(worker)
        var seed = 0
        func start(_ index: Int) throws -> ChildProcess {
            seed += 1
            return try workers.start(["loop", folder, "3000000", "\(seed)"], output: parent.file("output-\(index)"))
        }
        func failureMessage(_ index: Int) -> String {
            (try? String(contentsOfFile: parent.file("output-\(index)"), encoding: .utf8)) ?? "no output"
        }
        var processes = try (0..<4).map(start)
        for round in 0..<Self.rounds {
            // Virtual time cannot be used, because the test depends on when the system ends a process.
            usleep(UInt32.random(in: 2_000...150_000, using: &random))
            let index = Int.random(in: 0..<4, using: &random)
            #expect(workers.end(processes[index]), "round \(round): \(failureMessage(index))")
            processes[index] = try start(index)
        }
        for index in 0..<4 { #expect(workers.end(processes[index]), "\(failureMessage(index))") }

        // The remaining data is complete, and a sweep cleans up.
        let cache = DiskCache(folder: folder, maximumBytes: 3_000_000)
        let statistics = cache.statistics
        #expect(statistics.entries > 0 && statistics.bytes <= 3_000_000 * 5 / 4 + 400_000)
        let later = try #require(cacheMoment().later(by: .seconds(1_000_000_000)))
        cache.evict(now: later)
        #expect(cache.statistics.bytes <= 3_000_000)
        #expect(cache.takeNotes().isEmpty && cache.statistics.damaged == 0)
        try checkFiles()
    }

    private func checkNothingIsLeftOver() throws {
        guard let database = try? Database(existing: folder + "/index.db", lockTimeout: 5),
            let rows = try? database.number("SELECT count(*) FROM content WHERE body IS NULL")
        else { return }
        let names = FileManager.default.enumerator(atPath: folder)?.allObjects as? [String] ?? []
        #expect(names.filter { $0.utf8.count == 65 }.count <= rows, "\(names)")
        #expect(!names.contains { $0.hasPrefix("new/") })
    }

    /// Each file has a row and each row has a file, and nothing else exists.
    private func checkFiles() throws {
        let database = try Database(existing: folder + "/index.db", lockTimeout: 5)
        var expected: Set<String> = []
        try database.prepare("SELECT hash FROM content WHERE body IS NULL").each { row in
            if let hash = row.blob(0) { expected.insert(BodyFolder(path: folder).file(hash)) }
            return true
        }
        var files: Set<String> = []
        for case let name as String in FileManager.default.enumerator(atPath: folder) ?? .init()
        where !name.hasPrefix("index.db") {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: folder + "/" + name, isDirectory: &isFolder)
            if !isFolder.boolValue { files.insert(folder + "/" + name) }
        }
        #expect(files == expected)
        #expect(try database.number("SELECT count(*) FROM entry WHERE content NOT IN (SELECT hash FROM content)") == 0)
        #expect(try database.number("SELECT count(*) FROM content WHERE hash NOT IN (SELECT content FROM entry)") == 0)
        #expect(
            try database.number("SELECT small + main FROM total") == database.number("SELECT sum(bytes) FROM entry"))
        #expect(try database.prepare("PRAGMA integrity_check").first { $0.text(0) } == "ok")
    }

    @Test func concurrentEvictionsRespectTheLimit() throws {
        let workers = TokenStoreWorkers(worker)
        let outputs = (0..<3).map { parent.file("output-\($0)") }
        for (index, output) in outputs.enumerated() {
            try workers.start(["fill", folder, "2000000", "\(index)", "150"], output: output)
        }
        for output in outputs {
            let words = try TokenStoreWorkers.line(of: output).split(separator: " ")
            try #require(words.count == 4, "\(words)")
            // The process may have skipped some stores, but must not have noted an error.
            #expect(words[3] == "[]", "\(words)")
        }
        let cache = DiskCache(folder: folder, maximumBytes: 2_000_000)
        cache.evict(now: cacheMoment())
        #expect(cache.statistics.bytes <= 2_000_000 && cache.statistics.entries > 10)
        try checkFiles()
    }

    /// A file size limit makes `write` fail like a full disk, at a different position for each argument.
    @Test(arguments: ["1000", "5000", "20000", "40000", "70000", "150000", "300000"])
    func fullDiskIsNotAnError(_ limit: String) throws {
        let result = try run(worker, ["limited", folder, limit])
        #expect(result.status == 0 && result.text.hasSuffix("done\n"), "\(result.text)")
        let lines = result.text.split(separator: "\n")
        #expect(lines.count >= 2 && lines.count <= 3, "\(result.text)")
        #expect(lines.dropLast().allSatisfy { $0.contains("stores nothing") || $0.contains("is not used") })
        // Responses that could not be stored take no space.
        try checkNothingIsLeftOver()
        // The next process, with enough space, continues.
        let next = try run(worker, ["limited", folder, "100000000"])
        #expect(next.status == 0 && next.text == "done\n", "\(next.text)")
    }

    /// Uses a small file system that becomes full. Does nothing if the file system cannot be mounted.
    @Test(arguments: [64, 200, 500, 1000, 2000]) func smallDiskIsNotAnError(_ kilobytes: Int) throws {
        mkdir(folder, 0o700)
        let mount = "mount -t tmpfs -o size=\(kilobytes)k,mode=700 tmpfs '\(folder)' || exit 77"
        let script = "\(mount); '\(worker)' limited '\(folder)' none"
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: "/usr/bin/unshare") else { return }
        let result = try run("/usr/bin/unshare", ["-m", "sh", "-c", script])
        guard result.status != 77, result.status != 1 || !result.text.contains("unshare") else { return }
        #expect(result.status == 0 && result.text.hasSuffix("done\n"), "\(result.text)")
        #expect(result.text.contains("stores nothing") || result.text.contains("is not used"), "\(result.text)")
    }

    @Test func readOnlyFolderIsNotAnError() throws {
        let cache = DiskCache(folder: folder, maximumBytes: 4 << 20)
        cache.store(cacheKey("/"), try cachedResponse(), cachedBody(1, 10))
        cache.close()
        if geteuid() == 0 {
            for name in ["", "/index.db", "/new"] { chown(folder + name, 65534, 65534) }
            chmod(parent.path, 0o755)
        }
        chmod(folder, 0o555)
        defer { chmod(folder, 0o700) }
        let result = try run(worker, ["limited", folder, "nobody"])
        #expect(result.status == 0 && result.text.hasSuffix("done\n"), "\(result.text)")
        #expect(result.text.split(separator: "\n").count == 2, "\(result.text)")
    }

    @Test func folderOfAnotherUserIsNotAnError() throws {
        guard geteuid() == 0 else { return }
        mkdir(folder, 0o755)
        chmod(parent.path, 0o755)
        let result = try run(worker, ["limited", folder, "nobody"])
        #expect(result.status == 0 && result.text.contains("belongs to another user (uid 0)"), "\(result.text)")
    }
}
