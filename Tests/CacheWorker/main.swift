// Uses a cache folder in a separate process. Tests kill the process, limit its file size or deny it access.
//   CacheWorker loop FOLDER BYTES SEED      stores, reads, evicts and invalidates until it is killed; exits with
//                                           status 1 if an entry is wrong
//   CacheWorker fill FOLDER BYTES SEED N    stores N responses, evicts, and prints the cache's statistics
//   CacheWorker limited FOLDER LIMIT        limits files to LIMIT bytes, or becomes the user `nobody` if LIMIT is
//                                           `nobody` and it runs as root; stores, reads, and prints the cache's notes
//   CacheWorker measure FOLDER              measures operations of the memory cache and the disk cache

import Glibc
import NIOCore
import NightjarHTTP
import NightjarStorage

func writeLine(_ line: String) {
    print(line)
    fflush(nil)
}

/// A splitmix64 generator.
struct Chance: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// The body of a key in one of its versions. Keys 2n and 2n + 1 have the same body.
func content(_ number: Int, _ version: Int) -> [UInt8] {
    var chance = Chance(state: UInt64(number / 2 * 100_000 + version))
    let size =
        switch chance.next() % 10 {
        case 0: 0
        case 1...5: Int(chance.next() % 8193)
        case 6...8: Int(chance.next() % 60_000)
        default: 250_000 + Int(chance.next() % 100_000)
        }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size + 8)
    while bytes.count < size { withUnsafeBytes(of: chance.next()) { bytes += $0 } }
    return Array(bytes.prefix(size))
}

let start: Int64 = 1_750_000_000

func moment(_ seconds: Int64) -> Timestamp { Timestamp(secondsSince1970: seconds) ?? .epoch }

func key(_ number: Int) -> CacheKey { CacheKey(url: "https://a.example/\(number % 4)/\(number)?secret=s") }

func response(_ number: Int, _ version: Int) throws -> StoredResponse {
    var headers = Headers()
    try headers.add("ETag", "\"\(version)\"")
    try headers.add("X-Made", "\(number)-\(version)")
    return StoredResponse(
        ResponseHead(status: 200, headers: headers), requested: moment(start), received: moment(start))
}

struct Contradiction: Error { let what: String }

func check(_ found: DiskEntry, _ cache: DiskCache, _ number: Int) throws {
    let words = (found.response.headers["X-Made"] ?? "").split(separator: "-").compactMap { Int($0) }
    guard words.count == 2, words[0] == number else { throw Contradiction(what: "entry of another key: \(words)") }
    guard let reader = cache.open(found) else { return }
    let expected = content(number, words[1])
    var bytes: [UInt8] = []
    while let part = try reader.read(upTo: 50_000) { bytes += part.readableBytesView }
    guard bytes == expected, found.response.contentLength == expected.count else {
        throw Contradiction(what: "wrong body of \(words): \(bytes.count) bytes")
    }
}

func store(_ cache: DiskCache, _ number: Int, _ version: Int, _ chance: inout Chance) throws {
    let bytes = content(number, version)
    guard let writer = cache.beginBody(expecting: bytes.count) else { return }
    var rest = bytes[...]
    while !rest.isEmpty {
        let part = rest.prefix(Int(chance.next() % 40_000) + 1)
        guard writer.write(ByteBuffer(bytes: part)) else { return }
        rest = rest.dropFirst(part.count)
        if chance.next() % 200 == 0 { return }  // Simulates a lost connection.
    }
    writer.commit(
        key(number), try response(number, version), displayURL: "https://a.example/\(number % 4)/\(number)?***")
}

func loop(_ cache: DiskCache, _ seed: UInt64) throws -> Never {
    var chance = Chance(state: seed)
    var now = start
    while true {
        let number = Int(chance.next() % 60)
        switch chance.next() % 100 {
        case 0..<50: for entry in cache.find(key(number)) { try check(entry, cache, number) }
        case 50..<80: try store(cache, number, Int(chance.next() % 1000), &chance)
        case 80..<86:
            for entry in cache.find(key(number)) {
                var response = entry.response
                try response.headers.set("X-Updated", "yes")
                cache.update(entry, response)
            }
        case 86: cache.invalidate(key(number))
        case 87: cache.invalidate(url: key(number).url)
        case 88: cache.remove(key(number))
        case 89: if chance.next() % 8 == 0 { cache.remove(prefix: "https://a.example/\(number % 4)/") }
        case 90: if chance.next() % 20 == 0 { cache.removeAll() }
        case 91: now += Int64(chance.next() % 300_000) - 120_000  // The clock may also go back.
        default: cache.evict(now: moment(now))
        }
        // Killing a process must not damage an entry.
        let statistics = cache.statistics
        guard statistics.damaged == 0 else { throw Contradiction(what: "damaged: \(cache.takeNotes())") }
        if let note = cache.takeNotes().first { throw Contradiction(what: note) }
    }
}

func limit(_ text: String) {
    if text == "nobody" {
        if geteuid() == 0 { _ = setuid(65534) }
    } else if let bytes = UInt(text) {
        var limit = rlimit(rlim_cur: rlim_t(bytes), rlim_max: rlim_t(bytes))
        setrlimit(__rlimit_resource_t(1), &limit)  // RLIMIT_FSIZE, which is an enumeration constant in C
    }
}

func limited(_ cache: DiskCache) throws {
    var chance = Chance(state: 1)
    for number in 0..<30 {
        try store(cache, number, 1, &chance)
        for entry in cache.find(key(number)) { try check(entry, cache, number) }
        cache.invalidate(key(number))
        cache.evict(now: moment(start))
    }
    for note in cache.takeNotes() { writeLine(note) }
    writeLine("done")
}

func measure(_ folder: String) throws {
    let clock = ContinuousClock()
    func report(_ name: String, _ count: Int, _ body: (Int) throws -> Void) rethrows {
        let began = clock.now
        for index in 0..<count { try body(index) }
        let nanoseconds = (clock.now - began) / count
        writeLine("\(name): \(nanoseconds)")
    }
    let memory = MemoryCache(maximumBytes: 64 << 20)
    let keys = (0..<10_000).map { CacheKey(url: "https://api.example.com/v1/articles/\($0)?page=1&tag=swift") }
    let reply = try response(1, 1)
    try report("memory store 1 KiB", 10_000) {
        _ = memory.store(keys[$0], try response($0, 1), body: ByteBuffer(repeating: 1, count: 1024))
    }
    report("memory find, hit, of 10,000", 2_000_000) { _ = memory.find(keys[$0 % 10_000]) }
    report("memory find, hit, of one", 2_000_000) { _ in _ = memory.find(keys[5]) }
    let missing = CacheKey(url: "https://api.example.com/v1/articles/none?page=1&tag=swift")
    report("memory find, miss", 2_000_000) { _ in _ = memory.find(missing) }

    let disk = DiskCache(folder: folder, maximumBytes: 256 << 20)
    for size in [1024, 4096, 8192, 8193, 16384, 32768, 65536, 1 << 20] {
        let count = size > 500_000 ? 100 : 1000
        let bodies = (0..<count).map {
            ByteBuffer(
                bytes: [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)]
                    + [UInt8](repeating: 3, count: size - 2))
        }
        let keys = keys.prefix(count).map { CacheKey(url: $0.url + "&size=\(size)") }
        report("disk store \(size)", count) {
            _ = disk.store(keys[$0], reply, displayURL: keys[$0].url, body: bodies[$0])
        }
        report("disk find \(size)", count) { _ = disk.find(keys[$0]) }
        try report("disk find, open and read \(size)", count) {
            guard let entry = disk.find(keys[$0]).first, let reader = disk.open(entry) else { return writeLine("lost") }
            while try reader.read(upTo: 65536) != nil {}
        }
        try report("again", count) {
            guard let entry = disk.find(keys[$0]).first, let reader = disk.open(entry) else { return writeLine("lost") }
            while try reader.read(upTo: 65536) != nil {}
        }
    }
    report("disk find, miss", 10_000) { _ in _ = disk.find(missing) }
    let found = disk.find(CacheKey(url: keys[0].url + "&size=1024")).first
    report("disk update", 1000) { _ in _ = found.map { disk.update($0, reply) } }
    report("disk invalidate", 1000) { disk.invalidate(keys[$0]) }
    report("disk evict, nothing to do", 10_000) { _ in disk.evict(now: moment(start)) }
    writeLine("\(disk.statistics)")
    report("removing all", 1) { _ in disk.removeAll() }
}

let arguments = CommandLine.arguments + ["", "", "", "", ""]
let folder = arguments[2]
do {
    switch arguments[1] {
    case "loop":
        try loop(
            DiskCache(folder: folder, maximumBytes: Int(arguments[3]) ?? 0, lockTimeout: 5), UInt64(arguments[4]) ?? 0)
    case "fill":
        let cache = DiskCache(folder: folder, maximumBytes: Int(arguments[3]) ?? 0, lockTimeout: 5)
        var chance = Chance(state: UInt64(arguments[4]) ?? 0)
        for _ in 0..<(Int(arguments[5]) ?? 0) {
            try store(cache, Int(chance.next() % 1000), 1, &chance)
            cache.evict(now: moment(start))
        }
        let statistics = cache.statistics
        writeLine("\(statistics.entries) \(statistics.bytes) \(statistics.skipped) \(cache.takeNotes())")
    case "limited":
        limit(arguments[3])
        try limited(DiskCache(folder: folder, maximumBytes: 4 << 20))
    case "measure": try measure(folder)
    default: exit(2)
    }
} catch {
    writeLine("\(error)")
    exit(1)
}
