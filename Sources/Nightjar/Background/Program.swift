import CPlatform
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
        var child: pid_t = 0
        let words = ([name] + arguments).map { Array($0.utf8CString) }
        let code = Program.withTexts(words) { words in
            Program.withTexts(environment) { cplatform_start_program(&child, path, words, $0, hasOwnSession) }
        }
        return code == 0 ? child : -code
    }

    /// The variables of this process, whose values need not be UTF-8, and the additional ones.
    private var environment: [[CChar]] {
        let names = variables.keys.map { Array("\($0)=".utf8CString.dropLast()) }
        var entries: [[CChar]] = []
        var next = cplatform_environment()
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
}
