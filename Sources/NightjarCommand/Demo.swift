import Glibc
import NightjarDemo

/// `nightjar demo`: the API that examples and tests talk to.
enum Demo {
    /// Serves until the process is told to end.
    ///
    /// - Returns: the exit status.
    static func serve(port: Int) -> Int32 {
        let server = DemoServer()
        do {
            let port = try server.start(port: port)
            Console.write("The demo API is at http://127.0.0.1:\(port)/ (Ctrl-C stops it)\n", to: .output)
        } catch {
            Console.complain("cannot serve on port \(port): \(error)")
            return 1
        }
        server.waitUntilStopped()
        return 0
    }
}
