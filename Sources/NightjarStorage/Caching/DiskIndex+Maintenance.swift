import NightjarHTTP

/// Keeps the file small and consistent with the body files.
extension DiskIndex {
    // MARK: Shrinking

    /// Returns some free pages to the file system.
    ///
    /// - Returns: whether there may be more free pages to return.
    func shrink() throws(DatabaseError) -> Bool {
        guard mayShrink else { return false }
        let free = try database.number("PRAGMA freelist_count")
        // Some free pages are kept for later entries.
        guard try free > max(DiskIndex.freePages, database.number("PRAGMA page_count") / 16) else {
            mayShrink = false
            return false
        }
        try database.execute("PRAGMA incremental_vacuum(\(DiskIndex.pagesAtOnce))")
        return true
    }

    // MARK: Sweep

    /// Claims the next sweep for this process if it is due.
    func acquireSweep(_ now: Timestamp) throws(DatabaseError) -> Bool {
        func isDue(_ total: DiskEvictionQueue.Total) -> Bool {
            // A time of the last sweep in the future means that the clock was set back.
            total.swept > now.seconds || now.seconds - total.swept >= DiskIndex.sweepInterval
        }
        guard try isDue(evictionQueue.total()) else { return false }
        return try database.transaction { () throws(DatabaseError) -> Bool in
            guard try isDue(evictionQueue.total()) else { return false }
            try evictionQueue.setSwept(now.seconds)
            return true
        }
    }

    /// Removes the rows without a file and the files without a row of one subfolder.
    func sweep(folder first: UInt8) throws(DatabaseError) {
        let folder = bodies.folder(first)
        try database.transaction { () throws(DatabaseError) in
            var files = Set(BodyFolder.names(in: folder))
            for hash in try entries.contents(startingWith: first) {
                // Only rows whose file is missing are dropped.
                guard files.remove(Hexadecimal.encode(hash.dropFirst())) == nil else { continue }
                for row in try entries.rows(content: hash) { _ = try drop(row) }
                try release(hash)
            }
            // Files get their final names only inside transactions, so the remaining files are unreferenced.
            for name in files { bodies.removeFile(folder + "/" + name) }
        }
    }

    /// Checks the pages, drops entries without content and contents without an entry, and recomputes the sums.
    func repair() throws(DatabaseError) {
        try DatabaseFile.checkPages(database)
        if try database.number("PRAGMA auto_vacuum") == 0 {
            // An earlier version, whose files could not shrink, created this file.
            try database.makeShrinkable()
        }
        mayShrink = true
        try database.transaction { () throws(DatabaseError) in
            for row in try entries.withoutContent() { _ = try drop(row) }
            for hash in try entries.contents("hash NOT IN (SELECT content FROM entry)") { try release(hash) }
            try evictionQueue.recount()
        }
    }

    // MARK: Numbers

    /// The minimum number of free pages to keep: 256 KiB.
    private static let freePages: Int64 = 64
    /// The maximum number of free pages that one transaction returns to the file system.
    private static let pagesAtOnce = 256
    /// The time between two sweeps in seconds: one day.
    private static let sweepInterval: Int64 = 86_400
}
