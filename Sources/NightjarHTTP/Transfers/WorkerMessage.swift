/// The protocol between programs and the worker of their journal.
///
/// A program connects, sends one line with a JSON object, receives one line, and closes the connection. Everything that must
/// not be lost is in the journal: a worker or a program of another version, or none, only makes changes slower.
package enum WorkerMessage {
    /// The progress of running transfers, by the numbers of their journal entries.
    package typealias Progress = [Int64: TransferProgress]

    /// The line that asks for the progress of the running transfers. Each line also lets the worker read the journal.
    package static let request: [UInt8] = Array(#"{"version":1,"get":"progress"}"#.utf8) + [newline]

    /// Returns the worker's response to a line.
    ///
    /// - Parameter progress: Called for a request of the progress.
    package static func response(to line: some Collection<UInt8>, progress: () -> Progress) -> [UInt8] {
        var members: [JSONValue.Member] = [.init("version", .integer(version))]
        let value = try? JSONValue(parsing: String(decoding: line, as: UTF8.self))
        switch (value?["version"], value?["get"]) {
        case (.integer(version), .string("progress")):
            let running = progress().sorted { $0.key < $1.key }
            members.append(.init("progress", .object(running.map { .init("\($0.key)", $0.value.json) })))
        case (.integer(version), nil): break
        case (.integer, _): members.append(.init("error", .string("unknown version or request")))
        default: members.append(.init("error", .string("invalid request")))
        }
        let text = try? JSONValue.object(members).encoded()
        return (text.map { Array($0.readableBytesView) } ?? []) + [newline]
    }

    /// Reads the progress of the running transfers from a response. Empty for the response of another version.
    package static func progress(from line: some Collection<UInt8>) -> Progress {
        guard let value = try? JSONValue(parsing: String(decoding: line, as: UTF8.self)),
            value["version"] == .integer(version), case .object(let members)? = value["progress"]
        else { return [:] }
        var found: Progress = [:]
        for member in members {
            if let number = Int64(member.name) { found[number] = TransferProgress(member.value) }
        }
        return found
    }

    package static let newline = UInt8(ascii: "\n")
    /// The maximum size of a request in bytes.
    package static let largestRequest = 4096
    /// The maximum size of a response in bytes.
    package static let largestResponse = 256 << 10
    private static let version: Int64 = 1
}

/// The progress of a running background transfer.
package struct TransferProgress: Sendable, Equatable {
    package var transferred: Int
    /// Nil if it is not known.
    package var total: Int?
    /// Bytes per second. Nil if it is not known.
    package var rate: Double?

    package init(transferred: Int, total: Int?, rate: Double?) {
        (self.transferred, self.total, self.rate) = (transferred, total, rate)
    }

    fileprivate var json: JSONValue {
        var members: [JSONValue.Member] = [.init("transferred", .integer(Int64(transferred)))]
        if let total { members.append(.init("total", .integer(Int64(total)))) }
        if let rate, rate.isFinite { members.append(.init("rate", .number(rate))) }
        return .object(members)
    }

    /// Nil if the value is not valid.
    fileprivate init?(_ value: JSONValue) {
        guard case .integer(let count)? = value["transferred"], count >= 0 else { return nil }
        transferred = Int(count)
        if case .integer(let number)? = value["total"], number >= 0 { total = Int(number) }
        switch value["rate"] {
        case .number(let number)? where number >= 0: rate = number
        case .integer(let number)? where number >= 0: rate = Double(number)
        default: break
        }
    }
}
