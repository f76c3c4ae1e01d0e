import Glibc

/// The command's three standard streams.
enum Console {
    enum Stream: Int32 {
        case output = 1
        case error = 2
    }

    static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }

    /// Writes at once, behind what scripts have printed.
    static func write(_ text: String, to stream: Stream) {
        fflush(nil)
        var text = text
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(stream.rawValue, rest.baseAddress, rest.count)
                guard count > 0 || errno == EINTR else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(max(count, 0)))
            }
        }
    }

    /// One message on standard error.
    static func complain(_ message: String) {
        write("nightjar: \(message)\n", to: .error)
    }
}
