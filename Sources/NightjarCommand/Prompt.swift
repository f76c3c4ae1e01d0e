import Glibc
import Nightjar
import NightjarLua

/// The read-eval-print loop: expressions and statements, over as many lines as they need. An error ends the line, not the
/// prompt; Ctrl-C cancels the call that runs.
struct Prompt {
    private let interpreter: Interpreter

    init(_ interpreter: Interpreter) { self.interpreter = interpreter }

    func run() {
        try? interpreter.runCode("nightjar = require 'nightjar'")
        while let chunk = readChunk() {
            do throws(NightjarError) {
                try interpreter.runLine(chunk)
            } catch {
                Console.complain(error.message)
            }
        }
        Console.write("\n", to: .output)
    }

    /// - Returns: nil at the end of the input.
    private func readChunk() -> String? {
        Console.write("> ", to: .output)
        guard var chunk = readLine(strippingNewline: false) else { return nil }
        while interpreter.isIncomplete(chunk) {
            Console.write(">> ", to: .output)
            guard let line = readLine(strippingNewline: false) else { break }
            chunk += line
        }
        return chunk
    }
}
