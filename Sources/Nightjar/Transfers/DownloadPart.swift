import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTransport

/// The part of a download, and its state file. Decides when the state is recorded and when the part is synced. Used on
/// the client's loop; the file operations run on worker threads, in order.
final class DownloadPart: @unchecked Sendable {
    /// The events of a part.
    struct Events {
        /// Called with the writes that have succeeded.
        var written: ([DownloadQueue.Write]) -> Void
        /// Called after a file operation has failed.
        var failed: (NightjarError) -> Void
        /// Returns the facts of the present content. Nil if a later download could not continue it.
        var record: () -> DownloadRecord?
    }

    private let place: DownloadPlace
    private let queue: DownloadQueue
    private let events: Events
    /// Whether one connection at a time writes, so that the part has no gaps.
    private let isWrittenInOrder: Bool
    /// Whether the length of the part is the number of received bytes.
    private var isSequential: Bool
    private var synced: RangeSet
    /// The bytes that were written since the last record, and since the last sync.
    private var unrecorded = 0
    private var unsynced = 0

    init(_ place: DownloadPlace, connections: Int, window: Int, on loop: ClientLoop, _ events: Events) {
        self.place = place
        self.events = events
        isWrittenInOrder = connections == 1
        isSequential = isWrittenInOrder && place.record?.isSequential != false
        synced = place.record?.synced ?? RangeSet()
        queue = DownloadQueue(place.part, window: window, on: loop, events.written, failed: events.failed)
        if !isSequential, place.record?.isSequential == true { record() }
    }

    /// Returns the record for the state file and for a later download.
    func completed(_ record: DownloadRecord) -> DownloadRecord {
        var record = record
        record.part = place.part.path
        record.urlHash = place.urlHash
        record.boot = DownloadPlace.boot
        record.isSequential = isSequential
        record.synced = synced
        return record
    }

    // MARK: Writing

    func write(_ write: DownloadQueue.Write) { queue.write(write) }

    /// Runs `body` after the operations so far.
    func afterWrites(_ body: @escaping () -> Void) { queue.run(body) }

    /// Handles written bytes: writes the state file, or syncs the part, if many have been written since the last time.
    func wrote(_ count: Int, of total: Int?) {
        unrecorded += count
        unsynced += count
        if unsynced >= DownloadPart.syncInterval {
            sync()
        } else if !isSequential, unrecorded >= max(DownloadPart.recordInterval, (total ?? 0) / 1024) {
            record()
        }
    }

    /// Writes the state file.
    func record() {
        unrecorded = 0
        guard let record = events.record().map(completed) else { return }
        work { part throws(NightjarError) in try part.write(record) }
    }

    /// Syncs the bytes so far to the disk, and then writes the state file.
    func sync() {
        unsynced = 0
        guard let received = events.record()?.received else { return }
        work { part throws(NightjarError) in
            try part.sync()
        } then: { [weak self] in
            guard let self, let record = events.record() else { return }
            synced = received.intersection(record.received)
            self.record()
        }
    }

    /// Handles bytes that are not valid: the length of the part is no longer the number of received bytes.
    ///
    /// - Parameter received: The bytes that are valid.
    func invalidated(_ received: RangeSet) {
        isSequential = false
        synced = synced.intersection(received)
        record()
    }

    /// Discards the content and the pending writes.
    func reset() {
        queue.discard()
        isSequential = isWrittenInOrder
        synced = RangeSet()
        work { part throws(NightjarError) in try part.reset() }
    }

    /// Prepares the part for the rest of the content.
    ///
    /// - Parameters:
    ///   - count: The number of bytes that are missing.
    ///   - isVerified: Whether the part is read at its end, to compare it with a digest.
    func prepare(for count: Int, isVerified: Bool) {
        work { part throws(NightjarError) in
            try part.checkSpace(for: count)
            // Bytes that are soon read again should be in the page cache.
            if count >= DownloadPart.directMinimum, !isVerified { try part.writeDirectly() }
        }
    }

    private func work(
        _ body: @escaping @Sendable (PartFile) throws(NightjarError) -> Void, then next: @escaping () -> Void = {}
    ) {
        queue.work(body) { [events] result in
            switch result {
            case .success: next()
            case .failure(let error): events.failed(error)
            }
        }
    }

    // MARK: Ending

    /// Compares the part with the digests, and renames it to the file. Afterwards, calls `deliver` with the path.
    func complete(
        _ completion: PartFile.Completion, total: Int, checksums: [Checksum],
        isCancelled: @escaping @Sendable () -> Bool, then deliver: @escaping (Result<String, NightjarError>) -> Void
    ) {
        let path = FilePath()
        queue.work { part throws(NightjarError) in
            for checksum in checksums { try part.verify(checksum, isCancelled: isCancelled) }
            path.value = try part.complete(completion, total: total)
        } then: { result in
            deliver(result.map { path.value })
        }
    }

    /// Closes the part, and discards the pending writes. Afterwards, calls `deliver`.
    ///
    /// - Parameter record: The state to write. Nil: the part is removed.
    func close(keeping record: DownloadRecord?, then deliver: @escaping () -> Void) {
        queue.discard()
        let record = record.map(completed)
        queue.work { part throws(NightjarError) in
            defer { part.close() }
            guard let record else { return part.discard() }
            try part.write(record)
        } then: { _ in
            deliver()
        }
    }

    /// The path of a complete file. Written on a worker thread, and then read on the loop.
    private final class FilePath: @unchecked Sendable {
        var value = ""
    }

    /// With several connections, the bytes that are received again after the process was killed; more for files that are
    /// larger than 256 MiB.
    private static let recordInterval = 256 * 1024
    /// The smallest number of missing bytes that are written without the page cache.
    private static let directMinimum = 64 << 20
    /// The bytes that are received again after the system has stopped.
    private static let syncInterval = 64 << 20
}
