import Glibc
import NightjarDemo
import NightjarLua
import Testing

/// Runs the scripts of Tests/Lua, which check themselves, against the demo API.
@Suite(.serialized) struct ScriptFilesTests {
    @Test(arguments: [
        "bodies", "json", "tasks", "structure", "client", "requests", "responses", "coroutines", "streams", "log",
        "redirects",
        "codings",
        "misuse",
    ])
    func scriptPasses(name: String) throws {
        let server = DemoServer()
        let port = try server.start(host: "127.0.0.1", port: 0)
        defer { server.stop() }
        setenv("NIGHTJAR_DEMO_URL", "http://127.0.0.1:\(port)", 1)
        let script = try Script()
        try script.run("package.path = '\(ScriptFilesTests.folder)/?.lua;' .. package.path")
        try script.runFile("\(ScriptFilesTests.folder)/\(name).lua")
    }

    /// Tests/Lua, beside the folder of this file.
    static let folder = #filePath.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 } + "/Lua"
}
