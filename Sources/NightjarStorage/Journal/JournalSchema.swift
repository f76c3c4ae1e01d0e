/// The tables of a ``Journal``.
///
/// Times in `due`, `ended` and `uptime` are milliseconds of CLOCK_BOOTTIME in the boot that `journal.boot` names. The
/// first write after another boot adjusts all of them, see ``JournalTime``. Other times are milliseconds since 1970.
///
/// The CHECK constraints bound each number, so that sums cannot overflow. `PRAGMA quick_check` verifies them when the
/// file is opened.
enum JournalSchema {
    static let schema = DatabaseSchema("njjn", steps: [first])

    /// `fence` and `changes` start at random numbers. A lease of a file that was moved aside is therefore not valid for
    /// an entry with the same id in the new file.
    ///
    /// The values of an entry are in another table, because an update of a row writes the whole row.
    private static let first = """
        CREATE TABLE journal (
          one INTEGER PRIMARY KEY CHECK (one = 1), boot TEXT NOT NULL,
          uptime INTEGER NOT NULL CHECK (\(bounded("uptime"))), wall INTEGER NOT NULL CHECK (\(bounded("wall"))),
          fence INTEGER NOT NULL CHECK (\(bounded("fence"))), changes INTEGER NOT NULL CHECK (\(bounded("changes")))
        ) STRICT;
        INSERT INTO journal VALUES (1, '', 0, 0, abs(random() % 1099511627776), abs(random() % 1099511627776));
        CREATE TABLE entry (
          number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, order_key TEXT, credential TEXT,
          phase INTEGER NOT NULL CHECK (phase BETWEEN 0 AND 5), cancel INTEGER NOT NULL, paused INTEGER NOT NULL,
          acknowledged INTEGER NOT NULL, attempts INTEGER NOT NULL CHECK (\(bounded("attempts"))),
          fence INTEGER NOT NULL, owner INTEGER NOT NULL, lease INTEGER NOT NULL CHECK (\(bounded("lease"))),
          due INTEGER NOT NULL CHECK (\(bounded("due"))), ended INTEGER CHECK (\(bounded("ended"))),
          created INTEGER NOT NULL, updated INTEGER NOT NULL, bytes INTEGER NOT NULL CHECK (\(bounded("bytes")))
        ) STRICT;
        CREATE INDEX entry_due ON entry (kind, due) WHERE phase <= 1;
        CREATE INDEX entry_order ON entry (kind, order_key, number) WHERE order_key IS NOT NULL AND phase <= 2;
        CREATE INDEX entry_ended ON entry (acknowledged, ended) WHERE ended IS NOT NULL;
        CREATE INDEX entry_bytes ON entry (acknowledged, bytes);
        CREATE TABLE value (
          entry INTEGER NOT NULL, part INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY (entry, part)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE intent (
          entry INTEGER NOT NULL, number INTEGER NOT NULL CHECK (\(bounded("number"))), name TEXT NOT NULL, key TEXT,
          payload BLOB NOT NULL, result BLOB, fence INTEGER NOT NULL, PRIMARY KEY (entry, number), UNIQUE (entry, name)
        ) STRICT, WITHOUT ROWID;
        """

    /// The largest absolute value of a bounded number: 35,000 years in milliseconds.
    static let bound: Int64 = 1 << 50

    private static func bounded(_ column: String) -> String { "\(column) BETWEEN \(-bound) AND \(bound)" }
}

extension Int64 {
    /// The number in the range that the tables of a journal accept.
    var inJournal: Int64 { Swift.max(-JournalSchema.bound, Swift.min(JournalSchema.bound, self)) }
}

extension Duration {
    /// The whole milliseconds, in the range that the tables of a journal accept.
    var inJournal: Int64 { (nanosecondsClamped / 1_000_000).inJournal }
}
