import CCommand
@preconcurrency import NightjarSystem

/// The command's arguments and its three standard streams.
enum Console {
    enum Stream: Int32 {
        case output = 1
        case error = 2
    }

    /// The arguments as bytes, which need not be UTF-8, starting with the program's name.
    static var arguments: [[UInt8]] {
        let values = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        return values.map { value in
            value.map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
        }
    }

    /// Whether text on standard error may have colors. True for a terminal, unless `TERM` is unset or `dumb`, or
    /// `NO_COLOR` is set and not empty (https://no-color.org).
    static var errorHasColors: Bool {
        let noColor = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        let isDumb = getenv("TERM").map { strcmp($0, "dumb") == 0 } ?? true
        return !noColor && !isDumb && isatty(STDERR_FILENO) == 1
    }

    static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Writes immediately, after the buffered output of scripts.
    static func write(_ text: String, to stream: Stream) {
        fflush(nil)
        var text = text
        text.withUTF8 { bytes in
            njc_write(stream.rawValue, bytes.baseAddress, bytes.count)
        }
    }

    /// Writes one message to standard error.
    static func printError(_ message: String) {
        write("nightjar: \(message)\n", to: .error)
    }
}
