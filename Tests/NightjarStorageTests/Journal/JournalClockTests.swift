import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarStorage

/// Jumps of the wall clock, and other boots of the system.
@Suite struct JournalClockTests {
    private let example: JournalExample
    private let journal: Journal
    private static let year = Duration.seconds(365 * 86_400)

    init() throws {
        example = try JournalExample()
        journal = example.open()
    }

    @Test(arguments: [year * 10, year * -10]) func wallClockDoesNotChangeLeasesAndAttempts(_ jump: Duration) throws {
        _ = try journal.add(newEntry("leased"))
        var late = newEntry("late", "download")
        late.delay = .seconds(100)
        _ = try journal.add(late)
        let lease = try journal.taken("leased", for: .seconds(60))
        let other = example.open()
        example.time.setWall(by: jump)
        example.time.pass(.seconds(59))
        #expect(try other.take(kind: "upload", for: .seconds(60)) == nil)
        #expect(try other.nextDue(kind: "download") == .seconds(41))
        try journal.update(lease, state: bytes("1"))
        example.time.pass(.seconds(60))
        #expect(try other.take(kind: "upload", for: .seconds(60))?.isAdopted == true)
        #expect(journalError { try journal.update(lease, state: bytes("2")) }?.name == "leaseLost")
        #expect(try other.take(kind: "download", for: .seconds(60))?.id == "late")
    }

    /// The clock is set while the system is off. 40 seconds pass by the wall clock, or it goes backwards or forwards.
    @Test(
        arguments: [
            (.seconds(40), .seconds(60)), (year * -10, .seconds(100)), (year * 10, .zero), (.zero, .seconds(100)),
        ] as [(Duration, Duration)], ["boot-2", ""])
    func attemptsWaitForTheRestOfTheirTimeAfterABoot(_ times: (off: Duration, wait: Duration), _ boot: String) throws {
        if boot.isEmpty { example.time.reboot(after: .zero, boot: "", uptime: 1_000_000) }
        var late = newEntry("late")
        late.delay = .seconds(100)
        _ = try journal.add(late)
        journal.close()
        example.time.reboot(after: times.off, boot: boot)
        #expect(try journal.nextDue(kind: "upload") == times.wait)
        example.time.pass(times.wait)
        #expect(try journal.take(kind: "upload", for: .seconds(1)) != nil)
    }

    /// The owner of the lease exists: a virtual machine was restored, for example.
    @Test(arguments: [("boot-2", 5_000), ("boot-2", 9_000_000), ("", 5_000)] as [(String, Int64)])
    func leasesExpireWithTheirBoot(_ boot: String, _ uptime: Int64) throws {
        _ = try journal.add(newEntry("a"))
        let lease = try journal.taken("a", for: .seconds(86_400))
        let other = example.open()
        #expect(try other.take(kind: "upload", for: .seconds(60)) == nil)
        example.time.reboot(after: .seconds(1), boot: boot, uptime: uptime)
        let adopter = try #require(try other.take(kind: "upload", for: .seconds(60)))
        #expect(adopter.isAdopted)
        #expect(journalError { try journal.extend(lease) }?.name == "leaseLost")
        try other.finish(adopter, as: .done)
    }

    @Test func agesContinueAfterABoot() throws {
        var options = JournalOptions()
        options.retention.unacknowledgedAge = .seconds(100)
        let journal = example.open(options)
        _ = try journal.add(newEntry("a"))
        try journal.finish(journal.taken("a"), as: .done)
        example.time.pass(.seconds(40))
        // Without this write, the time until the boot would not be counted.
        _ = try journal.add(newEntry("b"))
        example.time.reboot(after: .seconds(59))
        try journal.applyRetention()
        #expect(try journal.entry("a") != nil)
        example.time.setWall(by: JournalClockTests.year)
        try journal.applyRetention()
        #expect(try journal.entry("a") != nil)
        example.time.pass(.seconds(1))
        try journal.applyRetention()
        #expect(try journal.entry("a") == nil)
    }

    /// Two workers whose clocks differ, as in containers with time namespaces. Both may consider their lease valid, but
    /// only the writes of the last one are accepted.
    @Test func differentClocksDoNotAcceptTwoWriters() throws {
        let ahead = TestJournalClock()
        ahead.pass(.seconds(100_000))
        let other = Journal(path: example.path, clock: ahead.clock)
        _ = try journal.add(newEntry("a"))
        var leases: [(Journal, JournalLease)] = []
        for round in 0..<10 {
            let worker = round % 2 == 0 ? journal : other
            let lease = try #require(try worker.take(kind: "upload", for: .seconds(60)), "round \(round)")
            for (earlier, lost) in leases {
                #expect(journalError { try earlier.update(lost, state: []) }?.name == "leaseLost")
            }
            try worker.update(lease, state: bytes("\(round)"))
            leases.append((worker, lease))
        }
        #expect(try journal.entry("a")?.state == bytes("9"))
    }

    /// Random schedules of four workers, with time that passes, jumps of the wall clock, and boots. A write is accepted
    /// only from the last lease. An entry is taken only after its lease has expired, and is never blocked.
    @Test(arguments: 0..<40) func noScheduleAcceptsALostLease(_ seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let workers = (0..<4).map { _ in example.open() }
        _ = try journal.add(newEntry("a"))
        var leases: [JournalLease?] = [nil, nil, nil, nil]
        var holder: Int?
        var left = 0
        var boots = 0
        for step in 0..<60 {
            let index = Int.random(in: 0..<4, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1, 2:
                let seconds = Int.random(in: 1...25, using: &random)
                example.time.pass(.seconds(seconds))
                left -= seconds
            case 3: example.time.setWall(by: .seconds(Int.random(in: -100_000_000...100_000_000, using: &random)))
            case 4 where Int.random(in: 0..<3, using: &random) == 0:
                boots += 1
                example.time.reboot(
                    after: .seconds(Int.random(in: -1000...1000, using: &random)), boot: "boot-\(boots % 3)",
                    uptime: Int64.random(in: 1000...10_000_000, using: &random))
                left = 0
            case 5, 6, 7:
                guard let lease = leases[index] else { continue }
                let name = journalError { try workers[index].update(lease, state: bytes("\(step)")) }?.name
                #expect(name == (holder == index ? nil : "leaseLost"), "seed \(seed), step \(step)")
                if name == nil { left = 20 }
            default:
                let lease = try workers[index].take(kind: "upload", for: .seconds(20))
                // The lease ends after 20 seconds without a write, or with its boot.
                #expect((lease != nil) == (holder == nil || left <= 0), "seed \(seed), step \(step)")
                guard let lease else { continue }
                (leases[index], holder, left) = (lease, index, 20)
            }
        }
        example.time.pass(.seconds(20))
        #expect(try workers[0].take(kind: "upload", for: .seconds(20)) != nil, "seed \(seed)")
    }
}
