import CPlatform
import NightjarHTTP
import NightjarSystem

/// The time of a ``Journal``: the boot of the system, the time since the boot, and the wall clock.
///
/// Leases, next attempts and retention are measured with the time since the boot, which includes the time of a sleep
/// (CLOCK_BOOTTIME on Linux). Changes of the wall clock have no effect on them.
///
/// The journal stores the time of its last write. The first write after another boot adjusts all stored times:
///
///     remaining wait = wait that remained at the last write − time since then by the wall clock, at least 0
///
/// If the wall clock was set back meanwhile, the time since the last write counts as 0. The wait is therefore never
/// longer than the wait that remained. All leases expire with their boot.
///
/// Containers with time namespaces have other values of CLOCK_BOOTTIME. If they share a journal, each may find that the
/// leases of the others are expired. Fencing numbers remain effective.
package struct JournalTime: Sendable, Equatable {
    /// The identifier of the boot. Empty if the system does not provide it.
    package var boot: String
    /// Milliseconds since the boot, including the time of a sleep.
    package var uptime: Int64
    /// Milliseconds since 1970 by the wall clock.
    package var wall: Int64

    package init(boot: String, uptime: Int64, wall: Int64) {
        self.boot = boot
        self.uptime = uptime.inJournal
        self.wall = wall.inJournal
    }

    /// Returns the number of milliseconds to add to times stored at this time, so that they are valid at `now`. Nil if
    /// `now` belongs to the same boot.
    ///
    /// A smaller ``uptime`` indicates another boot even if the system does not identify boots.
    func shift(to now: JournalTime) -> Int64? {
        guard !now.boot.isExactly(boot) || now.uptime < uptime else { return nil }
        // The values are within ±2^50, so the sums do not overflow.
        return now.uptime - uptime - max(0, now.wall - wall)
    }

    /// Returns the wall clock's time at a time since the boot. Nil outside the years 0 to 9999.
    func timestamp(at uptime: Int64) -> Timestamp? {
        Timestamp(millisecondsSince1970: wall + (uptime.inJournal - self.uptime))
    }
}

/// A source of the time. Tests replace it.
package struct JournalClock: Sendable {
    let now: @Sendable () -> JournalTime

    package init(now: @escaping @Sendable () -> JournalTime) { self.now = now }

    /// The clocks of the system.
    package static let system = JournalClock {
        var wall = timespec()
        clock_gettime(CLOCK_REALTIME, &wall)
        return JournalTime(
            boot: Boot.id, uptime: cplatform_uptime(),
            wall: Int64(wall.tv_sec).inJournal * 1000 + Int64(wall.tv_nsec) / 1_000_000)
    }
}
