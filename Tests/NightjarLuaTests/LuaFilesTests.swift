import Foundation
import NightjarDemo
import Testing

@testable import NightjarLua

/// Runs Tests/Lua against the demo API.
@Suite struct LuaFilesTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Lua").path

    @Test(arguments: ["json", "requests", "responses", "tasks", "coroutines"])
    func runs(file: String) throws {
        let demo = DemoServer()
        defer { demo.stop() }
        let script = try Script()
        try script.setGlobal("DEMO", .string("http://127.0.0.1:\(try demo.start())"))
        try script.setGlobal("FOLDER", .string(Self.folder))
        try script.run("package.path = FOLDER .. '/?.lua'")
        try script.runFile("\(Self.folder)/\(file).lua")
    }
}
