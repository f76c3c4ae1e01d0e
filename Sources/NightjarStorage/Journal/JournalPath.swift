import NightjarHTTP
import NightjarSystem

/// The paths of journals.
package enum JournalPath {
    /// The path of the user's journal: `nightjar/journal.db` in `XDG_STATE_HOME`, or in `~/.local/state` without it. Nil
    /// if neither XDG_STATE_HOME nor HOME is an absolute path.
    package static var standard: String? {
        standard { name in getenv(name).map { String(cString: $0) } }
    }

    /// - Parameter variable: returns the value of an environment variable.
    static func standard(_ variable: (String) -> String?) -> String? {
        func folder(_ name: String) -> String? {
            variable(name).flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil }
        }
        let state = folder("XDG_STATE_HOME") ?? folder("HOME").map { $0 + "/.local/state" }
        return state.map { $0 + "/nightjar/journal.db" }
    }

    /// Creates the folder of the journal if it does not exist, accessible only to its owner. Returns the path with all
    /// symbolic links resolved.
    static func prepare(_ path: String) throws(DatabaseError) -> String {
        let file = PrivateFile(path, "journal")
        file.makeFolder()
        do throws(NightjarError) { return try file.place() } catch {
            throw DatabaseError(opening: path, error)
        }
    }

    /// Makes the name of a new file durable.
    static func sync(_ place: String) throws(DatabaseError) {
        do throws(NightjarError) { try PrivateFile(place, "journal").syncFolder(of: place) } catch {
            throw DatabaseError(opening: place, error)
        }
    }
}

extension DatabaseError {
    init(opening path: String, _ error: NightjarError) {
        self.init(.other, path, "cannot be opened: \(error.message)", code: error.code)
    }
}
