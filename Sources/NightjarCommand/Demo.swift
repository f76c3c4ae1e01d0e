import NightjarDemo
import NightjarSystem

/// `nightjar demo`: the API server for examples and tests.
enum Demo {
    /// Serves until the process is terminated.
    ///
    /// - Returns: the exit status.
    static func serve(port: Int) -> Int32 {
        let server = DemoServer()
        do {
            let port = try server.start(port: port)
            Console.write("The demo API is at http://127.0.0.1:\(port)/ (Ctrl-C stops it)\n", to: .output)
        } catch {
            Console.printError("cannot serve on port \(port): \(error)")
            return 1
        }
        server.waitUntilStopped()
        return 0
    }
}
