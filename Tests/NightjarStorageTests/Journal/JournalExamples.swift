import Foundation
import NightjarHTTP
import NightjarStorage
import NightjarTestSupport
import Synchronization

/// A clock that a test sets.
final class TestJournalClock: Sendable {
    private let time: Mutex<JournalTime>

    /// 2026-01-01T00:00:00Z, 1000 seconds after the boot.
    init() { time = Mutex(JournalTime(boot: "boot-1", uptime: 1_000_000, wall: 1_767_225_600_000)) }

    var clock: JournalClock { JournalClock { self.time.withLock { $0 } } }

    /// Time passes.
    func pass(_ duration: Duration) {
        let milliseconds = duration.nanosecondsClamped / 1_000_000
        time.withLock {
            $0.uptime += milliseconds
            $0.wall += milliseconds
        }
    }

    /// The wall clock is set forwards or backwards.
    func setWall(by duration: Duration) {
        time.withLock { $0.wall += duration.nanosecondsClamped / 1_000_000 }
    }

    /// The system is started again.
    ///
    /// - Parameter boot: The identifier of the boot; empty if the system does not provide it.
    func reboot(after duration: Duration, boot: String = "boot-2", uptime: Int64 = 5000) {
        time.withLock {
            $0 = JournalTime(
                boot: boot, uptime: uptime, wall: $0.wall + duration.nanosecondsClamped / 1_000_000)
        }
    }
}

/// A journal in a folder of the test.
struct JournalExample {
    let folder: TemporaryDirectory
    let path: String
    let time = TestJournalClock()

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("journal.db")
    }

    /// Opens the file. Each object is a worker of its own.
    func open(_ options: JournalOptions = JournalOptions()) -> Journal {
        Journal(path: path, options: options, clock: time.clock)
    }
}

func newEntry(_ id: String, _ kind: String = "upload", input: String = "input", key: String? = nil) -> NewJournalEntry {
    var entry = NewJournalEntry(id: id, kind: kind, input: Array(input.utf8))
    entry.orderKey = key
    return entry
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// The lines of a file. Empty if it does not exist.
func linesOfFile(_ path: String) -> [String] {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map(String.init)
}

/// Returns the error of a journal.
func journalError(_ body: () throws -> Void) -> JournalError? {
    do {
        try body()
        return nil
    } catch {
        return error as? JournalError
    }
}

extension JournalError {
    /// The name of the cause.
    var name: String {
        switch cause {
        case .leaseLost: "leaseLost"
        case .conflict: "conflict"
        case .notFound: "notFound"
        case .wrongPhase: "wrongPhase"
        case .limit(let limit): limit.rawValue
        case .invalidArgument: "invalidArgument"
        case .forked: "forked"
        case .database(let error): "\(error.cause)"
        }
    }
}

extension Journal {
    /// Takes an entry that can be taken.
    func taken(_ id: String, for duration: Duration = .seconds(60)) throws -> JournalLease {
        guard let lease = try take(id: id, for: duration) else {
            throw ToolFailure(description: "the entry \(id) cannot be taken")
        }
        return lease
    }

    func phase(_ id: String) throws -> JournalPhase? { try entry(id)?.phase }
}
