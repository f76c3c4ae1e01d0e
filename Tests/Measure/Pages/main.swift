// What walking through a list costs: how memory grows over a million items, and what loading ahead saves. Run by
// scripts/measure-pages with the origin of the demo API, which is a process of its own.

import Glibc
import Nightjar

/// What the process has in memory, in bytes.
func resident() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, CInt(line.count), file) != nil else { return 0 }
    let words = line.prefix { $0 != 0 }.split(separator: CChar(0x20))
    let text = words.count > 1 ? String(decoding: words[1].map { UInt8(bitPattern: $0) }, as: UTF8.self) : ""
    return (Int(text) ?? 0) * sysconf(Int32(_SC_PAGESIZE))
}

func mebibytes(_ bytes: Int) -> Double { (Double(bytes) / 1_048_576 * 10).rounded() / 10 }

func client(_ origin: String) throws -> Client {
    var configuration = Configuration()
    configuration.baseURL = origin + "/v1/lists"
    configuration.transport.proxy.source = .off
    return try Client(configuration)
}

/// Walks through `pages` pages of a thousand items, each of which is looked at.
func memory(_ origin: String, pages: Int, key: Bool) throws {
    var options = Pagination(.cursor)
    options.maximumItems = 1000 * pages
    if key { options.key = try JSONPointer("/id") }
    let api = try client(origin)
    let pager = try Pager(api, Request(.get, "/measure-\(pages)/cursor?count=\(1000 * pages)&limit=1000"), options)
    var items = 0
    var bytes = 0
    var early = 0
    var most = 0
    let clock = ContinuousClock()
    let start = clock.now
    while let page = try pager.nextPageBlocking() {
        for index in 0..<page.count { bytes += page.text(index).readableBytes }
        items += page.count
        if page.number == max(10, pages / 10) { early = resident() }
        most = max(most, resident())
    }
    let seconds = start.duration(to: clock.now) / .seconds(1)
    print(
        #"{"name": "pages-memory", "key": \#(key), "items": \#(items), "bytes": \#(bytes), "#
            + #""mib_after_a_tenth": \#(mebibytes(early)), "mib_most": \#(mebibytes(most)), "seconds": \#((seconds * 10).rounded() / 10)}"#
    )
}

/// Fifty pages at 20 ms of latency and 20 ms of work a page.
func prefetch(_ origin: String) throws {
    let api = try client(origin)
    func time(_ prefetch: Int) throws -> Duration {
        var options = Pagination(.cursor)
        options.prefetch = prefetch
        let pager = try Pager(api, Request(.get, "/slow/cursor?count=500&limit=10&delay=20"), options)
        let clock = ContinuousClock()
        return try clock.measure {
            while try pager.nextPageBlocking() != nil {
                let end = clock.now + .milliseconds(20)
                while clock.now < end {}
            }
        }
    }
    let sequential = try time(0)
    let ahead = try time(1)
    let ratio = ((ahead / sequential) * 1000).rounded() / 1000
    print(
        #"{"name": "pages-prefetch", "sequential_ms": \#(Int(sequential / .milliseconds(1))), "#
            + #""ahead_ms": \#(Int(ahead / .milliseconds(1))), "ratio": \#(ratio), "budget": 0.6}"#)
}

guard let origin = getenv("NIGHTJAR_DEMO_URL").map({ String(cString: $0) }) else {
    print("NIGHTJAR_DEMO_URL is not set; run scripts/measure-pages")
    exit(2)
}
let pages = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1000
try prefetch(origin)
try memory(origin, pages: pages, key: false)
try memory(origin, pages: pages, key: true)
