import CCommand
import Nightjar
import NightjarDemo
import NightjarLua
import NightjarSystem
import NightjarTransport

/// Runs the `nightjar` command.
struct Command {
    /// The arguments of the process, starting with its own name.
    let arguments: [[UInt8]]

    /// Runs the invocation. Returns the exit status of the process.
    func run(_ invocation: Invocation) throws(UsageError) -> Int32 {
        if invocation.showsHelp {
            Console.write(Invocation.usage, to: .output)
            return 0
        }
        var worker: TransferWorker?
        if case .transferd(let words) = invocation.main { worker = try TransferWorker(words) }
        if invocation.showsVersion { Console.write(Command.version + "\n", to: .output) }
        do throws(NightjarError) {
            if case .demo(let port) = invocation.main { return Demo.serve(port: port) }
            if let worker { return try worker.run() }
            return try interpret(invocation)
        } catch {
            Console.printError(shown(error, of: invocation))
            return 1
        }
    }

    /// Returns the message of an error, without the traceback if Ctrl-C has ended a subcommand: it would show only the
    /// subcommand's own modules.
    private func shown(_ error: NightjarError, of invocation: Invocation) -> String {
        guard case .program = invocation.main, Interpreter.wasInterrupted else { return error.message }
        return String(error.message.prefix { $0 != "\n" })
    }

    private func interpret(_ invocation: Invocation) throws(NightjarError) -> Int32 {
        HostSignals.keepSIGPIPE()  // so that `nightjar script.lua | head` ends when head ends
        let interpreter = try Interpreter(arguments: arguments, scriptPosition: invocation.scriptPosition)
        try interpreter.open(njc_open)
        njc_set_traces(invocation.traces)
        let hasNothingToDo = invocation.main == .none && invocation.steps.isEmpty && !invocation.showsVersion
        let hasPrompt = invocation.isInteractive || hasNothingToDo && Console.inputIsTerminal
        var program: (name: String, words: [[UInt8]])?
        if case .program(let name, let words) = invocation.main { program = (name, words) }
        if invocation.traces || hasPrompt || program != nil { interpreter.observe(by: TraceOutput().show) }
        if let path = invocation.archive {
            let archive = try ArchiveFile(path: path, showsSecrets: invocation.archivesSecrets)
            interpreter.observe(keepsMessages: true, by: archive.add)
        }
        for step in invocation.steps {
            switch step {
            case .code(let code): try interpreter.runCode(code)
            case .module(let name): try interpreter.require(name)
            }
        }
        switch invocation.main {
        case .file(let path): try interpreter.runFile(path)
        case .standardInput: try interpreter.runFile(nil)
        case .none, .demo, .transferd, .program: break
        }
        if let program {
            let words = [Array(program.name.utf8)] + program.words
            return try interpreter.runProgram("nightjar.command.main", arguments: words)
        }
        if hasPrompt {
            if !invocation.showsVersion { Console.write(Command.version + "\n", to: .output) }
            return try interpreter.runProgram("nightjar.command.prompt")
        } else if hasNothingToDo {
            try interpreter.runFile(nil)
        }
        return 0
    }

    /// Ends the process by SIGINT if Ctrl-C ended the command, so that a shell loop around the command also ends. Must
    /// be called after the scripts have been closed.
    static func endByInterrupt() {
        guard Interpreter.wasInterrupted else { return }
        fflush(nil)
        signal(SIGINT, SIG_DFL)
        var interrupt = sigset_t()
        sigemptyset(&interrupt)
        sigaddset(&interrupt, SIGINT)
        sigprocmask(SIG_UNBLOCK, &interrupt, nil)
        raise(SIGINT)
    }

    private static let version = "nightjar \(Version.string), \(Interpreter.luaVersion)"
}
