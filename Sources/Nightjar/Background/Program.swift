import CLinux
import NightjarSystem

/// A program to start, with its arguments.
package struct Program: Sendable {
    /// The path of the executable. Without a slash, it is searched in PATH.
    private let path: String
    /// The name that the program gets (argv[0]), which lists of processes show.
    private let name: String
    private let arguments: [String]
    /// The environment variables to add.
    private let variables: [String: String]

    /// - Parameter name: Nil: the path.
    package init(_ path: String, name: String? = nil, _ arguments: [String], variables: [String: String] = [:]) {
        (self.path, self.name) = (path, name ?? path)
        (self.arguments, self.variables) = (arguments, variables)
    }

    /// Starts the program. It inherits no descriptors and no signal mask, and its standard streams are `/dev/null`.
    ///
    /// - Parameter hasOwnSession: Whether the program gets a session of its own, so that no terminal ends it.
    /// - Returns: The child process, or a negative errno value.
    package func start(hasOwnSession: Bool) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var code = posix_spawn_file_actions_init(&actions)
        guard code == 0 else { return -code }
        defer { posix_spawn_file_actions_destroy(&actions) }
        for stream in 0...2 as ClosedRange<Int32> where code == 0 {
            code = posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0)
        }
        if code == 0 { code = posix_spawn_file_actions_addclosefrom_np(&actions, 3) }
        var attributes = posix_spawnattr_t()
        if code == 0 { code = posix_spawnattr_init(&attributes) }
        guard code == 0 else { return -code }
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let session = hasOwnSession ? Program.setSession : 0
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | session)
        var child: pid_t = 0
        let words = ([name] + arguments).map { Array($0.utf8CString) }
        code = Program.withTexts(words) { words in
            Program.withTexts(environment) { posix_spawnp(&child, path, &actions, &attributes, words, $0) }
        }
        return code == 0 ? child : -code
    }

    /// The variables of this process, whose values need not be UTF-8, and the additional ones.
    private var environment: [[CChar]] {
        let names = variables.keys.map { Array("\($0)=".utf8CString.dropLast()) }
        var entries: [[CChar]] = []
        var next = clinux_environment()
        while let entry = next?.pointee {
            let text = Array(UnsafeBufferPointer(start: entry, count: strlen(entry) + 1))
            if !names.contains(where: { text.starts(with: $0) }) { entries.append(text) }
            next = next?.advanced(by: 1)
        }
        return entries + variables.map { Array("\($0.key)=\($0.value)".utf8CString) }
    }

    /// - Parameter texts: Texts that end with NUL.
    private static func withTexts(
        _ texts: [[CChar]], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> Int32 {
        var copies = texts.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        guard copies.allSatisfy({ $0 != nil }) else { return ENOMEM }
        copies.append(nil)
        return copies.withUnsafeMutableBufferPointer { buffer in buffer.baseAddress.map(body) ?? ENOMEM }
    }

    /// POSIX_SPAWN_SETSID, which the Glibc module does not include.
    private static let setSession: Int16 = 0x80
}
