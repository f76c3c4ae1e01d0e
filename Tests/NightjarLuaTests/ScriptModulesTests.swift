import Nightjar
import Synchronization
import Testing

@testable import NightjarLua

/// The standard modules in scripts of a host program.
@Suite struct ScriptModulesTests {
    /// Collects the lines of a client's log.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }

        func sink(_ level: LogSink.Level) -> LogSink {
            LogSink(level: level) { [self] line in lines.withLock { $0.append("\(line.level.name): \(line.message)") } }
        }
    }

    private func message(_ script: Script, _ source: String) -> String? {
        do throws(NightjarError) {
            try script.run(source, name: "test")
            return nil
        } catch {
            return error.message
        }
    }

    @Test(arguments: ["base64", "csv", "hash", "json", "log", "time", "url", "uuid"])
    func sandboxHasModules(module: String) throws {
        let script = try Script(sandboxed: true)
        try script.run("assert(type(require 'nightjar'.\(module)) == 'table')")
        guard module != "json" else { return }
        try script.run("assert(require 'nightjar.\(module)' == require 'nightjar'.\(module))")
    }

    @Test(arguments: ["env", "args"])
    func sandboxLacksModules(module: String) throws {
        let script = try Script(sandboxed: true)
        try script.run("assert(require 'nightjar'.\(module) == nil)")
        #expect(
            message(script, "require 'nightjar.\(module)'")?.hasPrefix(
                "test:1: module 'nightjar.\(module)' is not available in a sandbox") == true)
    }

    /// Changes to globals do not affect a module that was loaded before.
    @Test func modulesKeepTheirUpvalues() throws {
        let script = try Script(sandboxed: true)
        try script.run("csv = require 'nightjar'.csv")
        try script.run(
            "string.find, table.concat, type, ipairs = nil assert(csv.write {{1, 'a,b'}} == '1,\"a,b\"\\r\\n')")
    }

    @Test func moduleIsLoadedAgainAfterAFailedAllocation() throws {
        let script = try Script(limits: limiting { $0.memory = 1 << 20 })
        try script.run(
            """
            local nightjar = require "nightjar"
            local hog = {}
            pcall(function() while true do hog[#hog + 1] = ("x"):rep(100) .. #hog end end)
            local ok, why = pcall(function() return nightjar.csv end)
            assert(not ok and tostring(why):find "memory", tostring(why))
            hog = nil
            assert(nightjar.csv.parse "a,b"[1][2] == "b")
            """)
    }

    // MARK: The log

    @Test func linesAreWrittenToTheLogOfTheHost() throws {
        let lines = Lines()
        var configuration = Configuration()
        configuration.log = lines.sink(.info)
        let client = try Client(configuration)
        let script = try Script(client: client, sandboxed: true)
        try script.run(
            """
            local log = require "nightjar".log
            assert(log.level() == "info")
            log.debug "not asked for"
            log.info("copied", {bytes = 1048576, from = "a file", ok = true, none = ""})
            log.warn("two\\nlines \\27[31m", {["a=b"] = "c"})
            log.with {request = 7}.with {user = "ada"}.error("failed", {
                token = "hunter2", headers = {Authorization = "Bearer hunter2", ["Content-Type"] = "text/plain"},
                url = "https://u:hunter2@example.org/?access_token=hunter2&page=1", list = {1, {password = "hunter2"}},
            })
            log.info("see https://example.org/?api_key=hunter2, and continue")
            log.info("HTTPS://ada:hunter2@h/ postgres://ada:hunter2@h/db wss://h/x?api_key=hunter2 password=hunter2", {
                at = "WSS://h/?sig=hunter2", note = "Bearer hunter2", ["X-JWT"] = "hunter2"
            })
            log.info(("x"):rep(5000))
            local circle = {}
            circle[1] = circle
            log.info("deep", {circle = circle})
            log.info("refused", {code = 404, has_password = true, password = false, pin = 1234})
            """)
        client.close()
        #expect(
            lines.all == [
                "info: copied bytes=1048576 from=\"a file\" none=\"\" ok=true",
                "warning: two\\nlines \\x1b[31m \"a=b\"=c",
                "error: failed request=7 user=ada headers={Authorization=*** Content-Type=\"text/plain\"} "
                    + "list={1 {password=***}} token=*** url=\"https://***@example.org/?access_token=***&page=1\"",
                "info: see https://example.org/?api_key=*** and continue",
                "info: HTTPS://***@h/ postgres://***@h/db wss://h/x?api_key=*** password=*** X-JWT=*** "
                    + "at=\"WSS://h/?sig=***\" note=\"Bearer ***\"",
                "info: " + String(repeating: "x", count: 4096) + "... (5000 bytes)",
                "info: deep circle={{{{{{...}}}}}}",
                "info: refused code=404 has_password=true password=false pin=***",
            ])
    }

    @Test func floodOfLinesEndsOnlyTheScript() throws {
        let flood =
            "the script exceeded its log limit: 10000 lines or 4 MiB at once, 100 lines or 64 KiB per second"
        let lines = Lines()
        var configuration = Configuration()
        configuration.log = lines.sink(.info)
        let client = try Client(configuration)
        let script = try Script(client: client, sandboxed: true)
        #expect(
            message(script, "local log = require 'nightjar'.log while true do pcall(log.info, 'x') end")?.hasPrefix(
                flood)
                == true)
        try script.run("x = 1")
        let other = try Script(client: client, sandboxed: true)
        let long = "local log = require 'nightjar'.log local line = ('x'):rep(4000) while true do log.info(line) end"
        #expect(message(other, long)?.hasPrefix(flood) == true)
        // Without a log, the behaviour is the same.
        let mute = try Script(sandboxed: true)
        #expect(message(mute, long)?.hasPrefix(flood) == true)
        client.close()
        #expect(lines.all.count < 14_000)
    }
}
