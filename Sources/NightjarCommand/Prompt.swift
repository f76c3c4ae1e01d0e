import Glibc
import Nightjar
import NightjarLua

/// The read-eval-print loop: expressions and statements, over as many lines as they need. An error ends the line, not the
/// prompt; Ctrl-C cancels the call that runs.
struct Prompt {
    private let interpreter: Interpreter

    init(_ interpreter: Interpreter) { self.interpreter = interpreter }

    func run() {
        try? interpreter.runCode(Array("nightjar = require 'nightjar'".utf8))
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
    private func readChunk() -> [UInt8]? {
        Console.write("> ", to: .output)
        guard var chunk = Console.readLine() else { return nil }
        while interpreter.isIncomplete(chunk) {
            Console.write(">> ", to: .output)
            guard let line = Console.readLine() else { break }
            chunk += line
        }
        return chunk
    }
}
