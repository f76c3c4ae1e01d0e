import Glibc
import NightjarDemo
import NightjarLua
import NightjarTestSupport
import Testing

/// Runs the scripts of Tests/Lua against the demo API. The scripts contain their own checks.
@Suite(.serialized) struct ScriptFilesTests {
    @Test(arguments: ScriptFilesTests.names) func scriptPasses(name: String) async throws {
        try await onOwnThread {
            let server = DemoServer()
            let port = try server.start(host: "127.0.0.1", port: 0)
            defer { server.stop() }
            setenv("NIGHTJAR_DEMO_URL", "http://127.0.0.1:\(port)", 1)
            let script = try Script()
            try script.run("package.path = '\(ScriptFilesTests.folder)/?.lua;' .. package.path")
            try script.runFile("\(ScriptFilesTests.folder)/\(name).lua")
        }
    }

    @Test func scriptsAreFound() { #expect(ScriptFilesTests.names.contains("client")) }

    /// The folder Tests/Lua, located from the path of this file.
    static let folder = #filePath.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 } + "/Lua"

    /// The names of all scripts in the folder, except `check`, which the scripts load.
    static let names: [String] = {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".lua"), name != "check.lua" { names.append(String(name.dropLast(4))) }
        }
        return names.sorted()
    }()
}
