import Glibc
import Nightjar
import Testing

@testable import NightjarLua

/// Waits of scripts for files, processes, timers and other tasks.
@Suite struct WaitTests {
    @Test func sandboxHasChannelsAndAClockButNoFilesProcessesOrInput() throws {
        let script = try Script(sandboxed: true)
        try script.run(
            """
            local nightjar = require "nightjar"
            assert(nightjar.fs == nil and nightjar.process == nil and nightjar.stdin == nil)
            assert(not pcall(require, "nightjar.fs") and not pcall(require, "nightjar.process"))
            local clock <close> = nightjar.testing.clock { auto = true }
            local channel = nightjar.channel(1)
            nightjar.after(3600, function() channel:send "after an hour" end)
            assert(channel:receive() == "after an hour")
            """)
    }

    @Test(arguments: [
        "nightjar.process.run{'sleep', '100'}",
        "nightjar.process.spawn{'sleep', '100', stdout = 'pipe'}.stdout:line()",
        "nightjar.channel(1):receive()",
        "nightjar.spawn(nightjar.process.run, {'sleep', '100'}) nightjar.sleep(100)",
    ])
    func timeLimitEndsEachWait(source: String) throws {
        let began = ContinuousClock.now
        do {
            let script = try Script(limits: limiting { $0.time = .milliseconds(100) })
            #expect(throws: NightjarError.self) {
                try script.run("nightjar = require 'nightjar' nightjar.every(0.001, function() end) \(source)")
            }
        }
        #expect(ContinuousClock.now - began < .seconds(20))
    }

    @Test func deadlockIsReported() throws {
        let script = try Script()
        func failure(_ source: String) -> String? {
            do throws(NightjarError) {
                try script.run("local nightjar = require 'nightjar' \(source)")
                return nil
            } catch { return error.message }
        }
        #expect(failure("nightjar.channel(1):receive()") == "deadlock: all tasks wait for each other")
        #expect(
            failure("clock = nightjar.testing.clock() nightjar.sleep(1)")
                == "deadlock: all tasks wait, and no task advances the clock of nightjar.testing")
        #expect(failure("clock:close() nightjar.sleep(0.001)") == nil)
    }

    @Test func stateIsClosedWhileItsThreadsWait() throws {
        for _ in 0..<5 {
            let script = try Script(limits: limiting { $0.time = .milliseconds(20) })
            #expect(throws: NightjarError.self) {
                try script.run(
                    """
                    local nightjar = require "nightjar"
                    for i = 1, 5 do
                      nightjar.spawn(function() nightjar.process.spawn{"sleep", 100, stdout = "pipe"}.stdout:line() end)
                    end
                    nightjar.fs.exists "/"
                    nightjar.sleep(100)
                    """)
            }
        }
    }

    /// In a forked child, the threads that would report events do not exist, and the processes are children of the
    /// parent.
    @Test func forkedChildDoesNotWait() throws {
        typealias Fork = @convention(c) () -> pid_t
        let symbol = try #require(dlsym(nil, "fork"))
        let fork = unsafeBitCast(symbol, to: Fork.self)
        let script = try Script()
        try script.register("fork") { call in
            let child = fork()
            if child == 0 { alarm(20) }
            call.returnInteger(Int64(child))
        }
        try script.register("leave") { _exit(Int32($0.integer(0))) }
        var child: pid_t = 0
        try script.register("tell") { child = pid_t($0.integer(0)) }
        try script.run(
            """
            local nightjar = require "nightjar"
            nightjar.fs.exists "/"
            local process <close> = nightjar.process.spawn{"cat", stdin = "pipe", stdout = "pipe"}
            local reading = nightjar.spawn(function() return process.stdout:line() end)
            nightjar.sleep(0.01)
            local pid = fork()
            if pid == 0 then
              local read, why = pcall(reading.join, reading)
              local ok, err = pcall(nightjar.fs.exists, "/")
              process:close()
              leave((read or why.kind ~= "forked") and 1 or (ok or err.kind ~= "forked") and 2 or 0)
            end
            tell(pid)
            process.stdin:write "the parent continues\\n"
            assert(reading:join() == "the parent continues")
            process.stdin:close()
            assert(process:wait().ok)
            """)
        var status: Int32 = -1
        waitpid(child, &status, 0)
        #expect(status == 0)
    }
}
