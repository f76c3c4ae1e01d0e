/// What the command line asks for. The options are those of `lua`.
struct Invocation {
    /// Something to run before the script, in the order given. Like a file's name, in bytes that need not be UTF-8.
    enum Step: Equatable {
        /// `-e`
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
        /// `nightjar get` and the other programs of the command, with the words behind the name.
        case program(name: String, words: [[UInt8]])
    }

    /// Each has a help text of its own.
    private static let programs: Set<String> = [
        "get", "post", "put", "patch", "delete", "head", "options", "login", "logout", "profiles", "check",
        "test", "completions",
    ]

    var steps: [Step] = []
    var main = Main.none
    /// Where in the arguments the script's name stands; their number when there is no script.
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

    /// `--profile`, before the name of a program.
    private var profile: [UInt8]?

    /// - Parameter arguments: the program's name first.
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
            throw UsageError("--profile is for get, post, put, patch, delete, head, options, login and logout")
        }
        if archivesSecrets, archive == nil { throw UsageError("--har-secrets needs --har FILE") }
        if case .program = main { return }
        guard position < arguments.count else { return }
        scriptPosition = position
        switch arguments[position] {
        case "-": main = .standardInput
        case "demo" where !isScript: main = .demo(port: try Invocation.port(arguments[(position + 1)...]))
        default: main = .file(bytes[position])
        }
    }

    /// The words of a program, less those that ask for an archive, which the command makes.
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

    /// The rest of `-ecode` or `--har=file` behind so many bytes, which is the argument before `position`, or the argument there.
    private static func value(
        of option: String, _ arguments: [[UInt8]], _ position: inout Int, behind length: Int = 2
    ) throws(UsageError) -> [UInt8] {
        let rest = arguments[position - 1].dropFirst(length)
        if !rest.isEmpty { return Array(rest) }
        guard position < arguments.count else { throw UsageError("'\(option)' needs argument") }
        defer { position += 1 }
        return arguments[position]
    }

    private static func port(_ arguments: ArraySlice<String>) throws(UsageError) -> Int {
        var rest = arguments
        guard let option = rest.popFirst() else { return 8080 }
        guard option == "--port" else { throw UsageError("demo: unrecognized option '\(option)'") }
        guard let text = rest.popFirst(), let port = Int(text), 0...65535 ~= port else {
            throw UsageError("demo: --port needs a number from 0 to 65535")
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
          -v         show the version
          -W         turn warnings on
          --trace    show each call and its phases on standard error
          --har FILE write the calls to FILE as an HTTP archive (HAR 1.2), credentials masked
          --har-secrets  not masked
          --         stop handling options
          -          execute standard input
        Without a script, options or input it is a prompt; .help there tells what it has.

        usage: nightjar [--profile NAME] get|post|put|patch|delete|head|options URL [items]
               nightjar login|logout|profiles|check|test|completions ...
          makes a call, and so on; nightjar get --help and so on tell more

        usage: nightjar demo [--port N]
          serves the demo API on 127.0.0.1, port 8080 or N (0: a free one), until Ctrl-C

        """
}

/// The command line makes no sense; exit status 2.
struct UsageError: Error {
    let message: String
    init(_ message: String) { self.message = message }
}
