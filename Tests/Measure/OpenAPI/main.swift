// Measures the cost of loading an API description, in milliseconds and memory, relative to the size of the file. Run by
// scripts/measure-openapi in a release build, with one process for each description.

import Glibc
import NIOCore
import NightjarAPI
import NightjarHTTP

func contents(_ path: String) throws(NightjarError) -> [UInt8] {
    guard let file = fopen(path, "rb") else { throw NightjarError(.storage, "\(path) cannot be opened") }
    defer { fclose(file) }
    fseek(file, 0, SEEK_END)
    let size = ftell(file)
    rewind(file)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = fread(buffer.baseAddress, 1, size, file)
    }
}

/// The peak resident memory of the process, in bytes.
func peak() -> Int {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss * 1024
}

func tenths(_ number: Double) -> Double { (number * 10).rounded() / 10 }

func run(_ path: String) throws {
    var bytes = 0
    var files = 0
    let before = peak()
    let clock = ContinuousClock()
    var times: [Double] = []
    var most = 0
    for round in 0..<5 {
        bytes = 0
        files = 0
        var reading = Duration.zero
        let start = clock.now
        let catalog = try CatalogLoader.load(path) { path throws(NightjarError) in
            let start = clock.now
            let contents = try contents(path)
            reading += start.duration(to: clock.now)
            bytes += contents.count
            files += 1
            return contents
        }
        times.append((start.duration(to: clock.now) - reading) / .milliseconds(1))
        guard round == 0 else { continue }
        most = peak()
        print("\(path): \(bytes) bytes in \(files) files, \(catalog.operations.count) operations")
        for note in catalog.notes.prefix(CommandLine.arguments.contains("--notes") ? 1001 : 0) { print("  \(note)") }
        if CommandLine.arguments.contains("--calls") {
            try calls(catalog, bytes, clock)
            return
        }
        if CommandLine.arguments.contains("--schemas") {
            try schemas(catalog, clock)
            return
        }
    }
    times.sort()
    let ratio = Double(most) / Double(bytes)
    print("  load: least \(tenths(times[0])) ms, median \(tenths(times[2])) ms")
    print(
        "  peak memory: \(tenths(Double(most) / 1_048_576)) MiB, \(tenths(ratio)) times the files (the process before: \(tenths(Double(before) / 1_048_576)) MiB)"
    )
}

/// Reads all schemas of the operations.
func schemas(_ catalog: Catalog, _ clock: ContinuousClock) throws {
    let start = clock.now
    var read = 0
    var seen: Set<ObjectIdentifier> = []
    var failures: [String] = []
    for operation in catalog.operations {
        let schemas =
            operation.parameters.map(\.schema) + (operation.content?.choices.map(\.schema) ?? [])
            + operation.responses.flatMap { $0.schemas.map(\.schema) }
        for case let schema? in schemas where seen.insert(ObjectIdentifier(schema)).inserted {
            do throws(NightjarError) {
                let schema = try schema.get()
                read += 1
                for note in schema.notes where CommandLine.arguments.contains("--notes") { print("  \(note)") }
            } catch {
                failures.append("\(operation.name): \(error)")
            }
        }
    }
    print(
        "  \(read) schemas in \(tenths(start.duration(to: clock.now) / .milliseconds(1))) ms, then \(peak() >> 20) MiB")
    for failure in failures { print("  \(failure)") }
}

/// The current resident memory of the process, in bytes.
func component() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, 256, file) != nil else { return 0 }
    let words = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self).split(separator: " ")
    return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * Int(getpagesize())
}

/// Makes the request of each operation and validates a response to it. The values are generated from the schemas.
func calls(_ catalog: Catalog, _ bytes: Int, _ clock: ContinuousClock) throws {
    let start = clock.now
    let url = try RequestURL("http://a.example/")
    var requests = 0
    var responses = 0
    var failures: [String] = []
    for operation in catalog.operations {
        do throws(NightjarError) {
            var arguments = Arguments()
            for parameter in operation.parameters {
                guard let value = try example(parameter.example, parameter.schema) else { continue }
                arguments.values.append(("\(parameter.place.rawValue).\(parameter.name)", value))
            }
            for choice in operation.content?.choices.prefix(1) ?? [] {
                arguments.body = try example(choice.example, choice.schema).map { .value($0) }
            }
            let contract = try operation.request(arguments).contract ?? ResponseContract(operation)
            requests += 1
            for reply in operation.responses {
                for (mediaType, schema) in reply.schemas {
                    guard let value = try schema?.get().example(use: .response) else { continue }
                    var head = ResponseHead(status: reply.statuses?.lowest ?? 200)
                    try head.headers.set("Content-Type", mediaType)
                    try contract.check(Response(head: head, body: try value.encoded(), url: url))
                    responses += 1
                }
            }
        } catch {
            failures.append("\(operation.name): \(error.message)")
        }
    }
    let time = tenths(start.duration(to: clock.now) / .milliseconds(1))
    print("  \(requests) requests made and \(responses) responses checked in \(time) ms, \(failures.count) failures")
    for failure in failures.prefix(CommandLine.arguments.contains("--notes") ? 100 : 0) { print("  \(failure)") }
    for (name, memory) in [("then", component()), ("at most", peak())] {
        print(
            "  \(name): \(tenths(Double(memory) / 1_048_576)) MiB, \(tenths(Double(memory) / Double(bytes))) times the files"
        )
    }
    withExtendedLifetime(catalog) {}
}

func example(_ own: JSONValue?, _ schema: DeferredSchema?) throws(NightjarError) -> JSONValue? {
    guard let schema = try schema?.get() else { return own ?? .string("text") }
    if let own, schema.mismatch(in: own, use: .request) == nil { return own }
    return schema.example(use: .request)
}

for path in CommandLine.arguments.dropFirst() where !path.hasPrefix("--") { try run(path) }
