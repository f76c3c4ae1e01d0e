/// The parsed command line. The options include those of `lua`.
struct Invocation {
    /// An action that runs before the script. Steps run in the order of the options. Texts are bytes, because they need
    /// not be UTF-8.
    enum Step: Equatable {
        /// `-e`, and `-W`, which runs code that turns on warnings
        case code([UInt8])
        /// `-l`
        case module([UInt8])
    }

    enum Main: Equatable {
        case none
        case file([UInt8])
        case standardInput
        /// `nightjar demo`
        case demo(port: Int)
        /// `nightjar transferd`, with the words after it.
        case transferd(words: [String])
        /// `nightjar get` and the other programs of the command, with the words after the name.
        case program(name: String, words: [[UInt8]])
    }

    /// The programs of the command. Each has its own help text.
    private static let programs: Set<String> = [
        "get", "post", "put", "patch", "delete", "head", "options", "login", "logout", "profiles", "events", "tls",
        "ws", "upload", "transfers", "graphql", "outbox", "check", "test", "completions",
    ]

    var steps: [Step] = []
    var main = Main.none
    /// The index of the script's name in the arguments, or the number of arguments if there is no script.
    var scriptPosition: Int
    var isInteractive = false
    var showsVersion = false
    var showsHelp = false
    /// `--trace`
    var traces = false
    /// `--har`: the name of the file.
    var archive: [UInt8]?
    /// `--har-secrets`
    var archivesSecrets = false

    /// `--profile`, given before the name of a program.
    private var profile: [UInt8]?

    /// Parses the arguments of the process.
    ///
    /// - Parameter bytes: the arguments, starting with the program's name.
    init(_ bytes: [[UInt8]]) throws(UsageError) {
        let arguments = bytes.map { String(decoding: $0, as: UTF8.self) }
        scriptPosition = arguments.count
        var position = 1
        var isScript = false
        while position < arguments.count {
            let argument = arguments[position]
            guard argument.hasPrefix("-"), argument != "-" else { break }
            position += 1
            if argument == "--" {
                isScript = true
                break
            }
            switch argument.dropFirst().first {
            case "-" where argument == "--help": showsHelp = true
            case "-" where argument == "--version": showsVersion = true
            case "-" where argument == "--trace": traces = true
            case "-" where argument == "--har-secrets": archivesSecrets = true
            case "-" where argument == "--har" || argument.hasPrefix("--har="):
                archive = try Invocation.value(of: argument, bytes, &position, behind: "--har=".utf8.count)
            case "-" where argument == "--profile" || argument.hasPrefix("--profile="):
                profile = try Invocation.value(of: argument, bytes, &position, behind: "--profile=".utf8.count)
            case "h" where argument == "-h": showsHelp = true
            case "v" where argument == "-v": showsVersion = true
            case "W" where argument == "-W": steps.append(.code(Array("warn '@on'".utf8)))
            case "i" where argument == "-i": isInteractive = true
            case "e": steps.append(.code(try Invocation.value(of: argument, bytes, &position)))
            case "l": steps.append(.module(try Invocation.value(of: argument, bytes, &position)))
            default: throw UsageError("unrecognized option '\(argument)'")
            }
        }
        let name = position < arguments.count && !isScript ? arguments[position] : ""
        if Invocation.programs.contains(name) {
            main = .program(name: name, words: try programWords(bytes, behind: position))
        } else if profile != nil {
            throw UsageError(
                "--profile is only valid with get, post, put, patch, delete, head, options, login, logout and tls")
        }
        if archivesSecrets, archive == nil { throw UsageError("--har-secrets requires --har FILE") }
        if case .program = main { return }
        guard position < arguments.count else { return }
        scriptPosition = position
        switch arguments[position] {
        case "-": main = .standardInput
        case "demo" where !isScript: main = .demo(port: try Invocation.port(arguments[(position + 1)...]))
        case "transferd" where !isScript: main = .transferd(words: Array(arguments[(position + 1)...]))
        default: main = .file(bytes[position])
        }
    }

    /// Returns the words of a program: `--profile` if it was given before the program's name, then the words after the
    /// name. Omits `--har` and `--har-secrets` unless they follow `--`, because the command handles them itself.
    private mutating func programWords(_ arguments: [[UInt8]], behind name: Int) throws(UsageError) -> [[UInt8]] {
        var words: [[UInt8]] = []
        if let profile { words += [Array("--profile".utf8), profile] }
        var position = name + 1
        while position < arguments.count {
            let word = String(decoding: arguments[position], as: UTF8.self)
            if word == "--" { break }
            position += 1
            if word == "--har-secrets" {
                archivesSecrets = true
            } else if word == "--har" || word.hasPrefix("--har=") {
                archive = try Invocation.value(of: word, arguments, &position, behind: "--har=".utf8.count)
            } else {
                words.append(arguments[position - 1])
            }
        }
        return words + arguments[position...]
    }

    /// Returns an option's value: the rest of the argument before `position`, after its first `length` bytes (`-ecode`,
    /// `--har=file`), or, if that is empty, the argument at `position`, which is then consumed.
    private static func value(
        of option: String, _ arguments: [[UInt8]], _ position: inout Int, behind length: Int = 2
    ) throws(UsageError) -> [UInt8] {
        let rest = arguments[position - 1].dropFirst(length)
        if !rest.isEmpty { return Array(rest) }
        guard position < arguments.count else { throw UsageError("option '\(option)' requires an argument") }
        defer { position += 1 }
        return arguments[position]
    }

    private static func port(_ arguments: ArraySlice<String>) throws(UsageError) -> Int {
        var rest = arguments
        guard let option = rest.popFirst() else { return 8080 }
        guard option == "--port" else { throw UsageError("demo: unrecognized option '\(option)'") }
        guard let text = rest.popFirst(), let port = Int(text), 0...65535 ~= port else {
            throw UsageError("demo: --port requires a number from 0 to 65535")
        }
        guard rest.isEmpty else { throw UsageError("demo: unexpected '\(rest[rest.startIndex])'") }
        return port
    }

    static let usage = """
        usage: nightjar [options] [script [args]]
          -e code    execute the string 'code'
          -l mod     require library 'mod' into global 'mod'
          -l g=mod   require library 'mod' into global 'g'
          -i         enter the prompt after executing 'script'
          -v         print the version
          -W         turn warnings on
          --trace    print each call and its phases to standard error
          --har FILE write the calls to FILE as an HTTP archive (HAR 1.2), with credentials masked
          --har-secrets  do not mask credentials in the archive
          --         stop handling options
          -          execute standard input
        Without a script, options or piped input, nightjar starts an interactive prompt; type .help there.

        usage: nightjar [--profile NAME] get|post|put|patch|delete|head|options URL [items]
               nightjar events|ws|graphql|upload|transfers|outbox|login|logout|profiles|tls|check|test|completions ...
          run a subcommand; see nightjar get --help and so on

        usage: nightjar demo [--port N]
          serve the demo API on 127.0.0.1, port 8080 or N (0: any free port), until Ctrl-C

        usage: nightjar transferd [--journal PATH] [--idle SECONDS] [--concurrency N]
                                 [--max-rate BYTES] [--detach] [--log]
          perform the background transfers of a journal until there is no work

        """
}

/// An invalid command line; exit status 2.
struct UsageError: Error {
    let message: String
    init(_ message: String) { self.message = message }
}
