import Foundation
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Testing

@testable import NightjarLua

/// A gate that is opened once. Any number of threads can wait until the gate is open.
private final class Gate: @unchecked Sendable {
    private let condition = NSCondition()
    private var isOpen = false

    func open() {
        condition.lock()
        isOpen = true
        condition.broadcast()
        condition.unlock()
    }

    /// - Returns: Whether the gate is open.
    func wait(seconds: Double) -> Bool {
        let end = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while !isOpen, condition.wait(until: end) {}
        return isOpen
    }
}

/// Every sandboxed script ends when it reaches a limit or is interrupted.
@Suite(.serialized) struct SandboxEndingTests {
    enum Stop: CaseIterable {
        case instructions, time, interrupt
    }

    /// Programs that try to run beyond the limits. Each begins with `prelude`.
    static let hostile = [
        // Message handlers, which may run without hooks.
        "xpcall(loop, loop)",
        "xpcall(error, loop)",
        "while true do xpcall(loop, function() xpcall(loop, loop) end) end",
        "local function f() xpcall(f, f) end f()",
        "xpcall(loop, coroutine.wrap(loop))",
        "pcall(xpcall, loop, function() return (('a'):rep(30)):find(('a?'):rep(30) .. 'b') end)",
        // Closers.
        "local x <close> = closer() loop()",
        "pcall(function() local x <close> = closer() loop() end)",
        "local x <close> = closer(function() pcall(loop) loop() end) loop()",
        "local x <close> = closer(function() xpcall(loop, loop) end) local y <close> = closer() error 'x'",
        "for _ in next, { 1 }, nil, closer() do loop() end",
        "for _ in next, { 1 }, nil, closer() do end",
        "nightjar.spawn(function() local x <close> = closer() loop() end)",
        "nightjar.spawn(function() local x <close> = closer() nightjar.sleep(100) end):cancel()",
        "local t = nightjar.spawn(function() local x <close> = closer() nightjar.sleep(100) end) nightjar.sleep(0) t:cancel()",
        "nightjar.all { function() local x <close> = closer() error 'x' end, function() local x <close> = closer() loop() end }",
        "nightjar.timeout(0.01, function() local x <close> = closer() nightjar.sleep(1) end)",
        "table.sort({ 3, 2, 1 }, function() local x <close> = closer() loop() end)",
        "('x'):gsub('x', function() local x <close> = closer() loop() end)",
        "local x <close> = closer() table.sort({ 3, 2, 1 }, loop)",
        "local co = coroutine.create(function() local x <close> = closer() loop() end) coroutine.resume(co) coroutine.close(co)",
        "local co = coroutine.wrap(function() local x <close> = closer() table.sort({ 2, 1 }, loop) end) pcall(co) pcall(co)",
        "local co = coroutine.create(function() local x <close> = closer() coroutine.yield() end) coroutine.resume(co) coroutine.close(co)",
        "for i = 1, 1e4 do nightjar.spawn(function() local x <close> = closer() nightjar.sleep(100) end) end loop()",
        // Finalizers, which are not available in a sandbox.
        "setmetatable({}, { __gc = loop }) loop()",
        "pcall(setmetatable, {}, { __gc = loop }) loop()",
        // The table library with false lengths.
        "table.move({}, 1, 1 << 62, 2)",
        "table.move({}, 1, 1 << 62, 1, {})",
        "table.insert(liar(1 << 62), 1, 'x')",
        "table.remove(liar(1 << 62), 1)",
        "table.concat(liar(1 << 62, ''))",
        "table.concat({}, '', 1, 1 << 62)",
        "table.sort(liar((1 << 31) - 2, 1))",
        "table.sort(liar((1 << 31) - 2, 1), rawequal)",
        "while true do table.unpack({}, 1, 900000) end",
        "while true do pcall(table.unpack, liar(1 << 62)) end",
        "local t = {} for i = 1, 4e6 do t[i] = i % 1000 end while true do table.sort(t) end",
        // The string library.
        "(''):rep(1 << 62)",
        "while true do pcall(string.rep, 'x', 1 << 62) end",
        "while true do pcall(string.rep, 'x', 1 << 27) end",
        "(('a'):rep(30)):find(('a?'):rep(30) .. ('a'):rep(31))",
        "(('a'):rep(40)):match(('a*'):rep(20) .. 'b')",
        "for _ in (('a'):rep(40)):gmatch(('a*'):rep(20) .. 'b') do end",
        "(('a'):rep(40)):gsub(('a-'):rep(20) .. 'b', '')",
        "(('a'):rep(1e6)):find('.-.-.-b')",
        "(('('):rep(1e6)):find('%b()')",
        "(('a'):rep(1 << 24)):find(('a'):rep(1 << 23) .. 'b', 1, true)",
        "while true do (('a'):rep(1 << 24)):upper() end",
        "local s = ('a'):rep(1 << 26) while true do s:lower() end",
        "local s = ('a'):rep(1 << 26) while true do utf8.len(s) end",
        "local s = '\\xC3' .. ('\\x80'):rep(1 << 26) while true do pcall(utf8.codes(s), s, 1) end",
        "local s = (' '):rep(1 << 26) while true do tonumber(s, 16) end",
        "local a, b = ('a'):rep(1 << 26), ('a'):rep((1 << 26) - 1) .. 'a' while true do local _ = a == b end",
        "local a = ('a'):rep(1 << 26) while true do local _ = a .. a end",
        // Other functions.
        "load(function() return ' ' end)",
        "while true do load((' '):rep(1 << 26)) end",
        "local t = {} for i = 1, 60 do t = { t, t } end nightjar.json.encode(t)",
        "local s = ('a'):rep(1 << 26) while true do nightjar.hash.sha512(s) end",
        "local s = ('a'):rep(1 << 26) while true do nightjar.base64.encode(s) end",
        "local t = {} for i = 1, 1 << 22 do t[i .. ''] = nil t[i] = i end while true do next(t) t[1] = nil t[{}] = 1 end",
        "local t = {} for i = 1, 1 << 21 do t[i] = i end for i = 1, 1 << 21 do t[i] = nil end while true do next(t) end",
        "getmetatable('').__tostring = loop error 'x'",
        "error(setmetatable({}, { __tostring = loop }))",
        "while true do pcall(coroutine.wrap(loop)) end",
        "local t = setmetatable({}, { __index = function(t, k) return t[k + 1] end }) while true do pcall(function() return t[1] end) end",
        "nightjar.spawn(function() while true do nightjar.sleep(0) end end) loop()",
    ]

    static let prelude = """
        local nightjar = require 'nightjar'
        local function loop() while true do end end
        local function closer(f) return setmetatable({}, { __close = f or loop }) end
        local function liar(n, value)
          return setmetatable({}, { __len = function() return n end, __newindex = rawequal,
            __index = value and function() return value end })
        end

        """

    /// Runs the program. Returns the processor time of this thread in seconds.
    private func run(_ source: String, in script: Script, _ stop: Stop) -> Double {
        let ended = Gate()
        let watchdog = Thread {
            guard !ended.wait(seconds: 60) else { return }
            fatalError("the script did not end (\(stop)): \(source)")
        }
        watchdog.start()
        if stop == .interrupt {
            let interrupter = Thread {
                Thread.sleep(forTimeInterval: 0.1)
                // Repeated until the run has ended, because an interrupt before the run begins has no effect.
                while !ended.wait(seconds: 0.05) { script.interrupt() }
            }
            interrupter.start()
        }
        let before = processorTime()
        try? script.run(SandboxEndingTests.prelude + source)
        let after = processorTime()
        ended.open()
        return after - before
    }

    private func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }

    private func limits(_ stop: Stop) -> ScriptLimits {
        var limits = ScriptLimits()
        limits.time = stop == .time ? .milliseconds(100) : nil
        limits.instructions = stop == .instructions ? 2_000_000 : nil
        limits.burst = nil
        return limits
    }

    @Test(arguments: SandboxEndingTests.hostile, Stop.allCases)
    func everyScriptEnds(source: String, stop: Stop) throws {
        let script = try Script(sandboxed: true, limits: limits(stop))
        let seconds = run(source, in: script, stop)
        // AddressSanitizer scans the whole stack at each error.
        let longest = isSanitized ? 15.0 : 1.5
        #expect(seconds < longest, "the script took \(seconds) s (\(stop)): \(source)")
        // The remaining coroutines end, too, and the state can be used again.
        let again = run("for _, co in ipairs(left or {}) do coroutine.close(co) end", in: script, stop)
        #expect(again < longest)
    }

    /// If a limit ends a coroutine inside a C function, hooks are disabled in the coroutine. Its closers must then not
    /// run.
    @Test(arguments: Stop.allCases) func closersAreNotRunLongAfterALimit(stop: Stop) throws {
        let script = try Script(sandboxed: true, limits: limits(stop))
        let leaves = """
            left, ran = {}, 0
            left[1] = coroutine.create(function() local x <close> = closer() table.sort({ 2, 1 }, loop) end)
            wrapped = coroutine.wrap(function() local x <close> = closer() table.sort({ 2, 1 }, loop) end)
            nightjar.spawn(function()
              left[2] = coroutine.running()
              local x <close> = closer()
              table.sort({ 2, 1 }, loop)
            end)
            coroutine.resume(left[1])
            """
        _ = run(leaves, in: script, stop)
        _ = run("wrapped()", in: script, stop)
        for source in ["coroutine.close(left[1])", "wrapped()", "if left[2] then coroutine.close(left[2]) end"] {
            #expect(run(source, in: script, stop) < 1.5, "\(source)")
        }
    }

    /// When a limit ends the run, the closers of each coroutine may execute a thousand instructions.
    @Test func closersHaveAGracePeriodAfterALimit() throws {
        let script = try Script(sandboxed: true, limits: limits(.time))
        let source = "closed = 0 local x <close> = closer(function() closed = closed + 1 end) "
        _ = run(source + "loop()", in: script, .time)
        try script.run("assert(closed == 1, closed)")
        _ = run(source + "nightjar.sleep(100)", in: script, .time)
        try script.run("assert(closed == 1, closed)")
    }

    // MARK: The bounded functions do what Lua's do

    /// Calls the functions that a sandbox replaces with random arguments, and records the results and errors.
    private static let calls = #"""
        math.randomseed(7)
        local random, results = math.random, {}
        local function note(...)
          local texts = table.pack(...)
          for i = 1, texts.n do
            local value = texts[i]
            if type(value) == "table" then
              local items = {}
              for place = 1, 60 do items[place] = tostring(value[place]) end
              value = table.concat(items, ",")
            end
            texts[i] = tostring(value):gsub("%w+: 0x%x+", "object"):gsub("\0", "NUL")
              :gsub("#%d to 'table.remove'", "to 'table.remove'") -- Lua 5.4.4 names the wrong argument
          end
          results[#results + 1] = table.concat(texts, "|")
        end
        local pieces = { "a", "b", "%a", "%d", "%s", "%w", "%W", "[ab]", "[^a]", "[a-c]", "[%d%-]", "[]]", "[^]]", ".", "%.", "%f[%w]",
          "%b()", "(", ")", "()", "(a", "b)", "%1", "%2", "^", "$", "*", "+", "-", "?", "%", "[", "%bx", "%f", "x*", "a-", "(.-)", "%%",
          "\0", "[\0]", "é", "%A", "%g", "%p", "%x", "%c", "%l", "%u" }
        local letters = { "a", "b", "c", "1", "-", " ", "(", ")", "%", "]", "\0", "x", ".", "é", "A", "_", "aab", "((a)b)" }
        local function some(list, most)
          local text = {}
          for i = 1, random(0, most) do text[i] = list[random(#list)] end
          return table.concat(text)
        end
        local replacements = { "", "x", "<%0>", "%1", "%2", "%%", "%", "%a", "[%1%1]", { a = "1", b = false }, function(...) return ... end,
          function() return nil end, function() return {} end, 7, true }
        for round = 1, 6000 do
          local text, pattern = some(letters, 8), some(pieces, 4)
          local from = random(3) == 1 and random(-9, 9) or nil
          note(pcall(string.find, text, pattern, from, random(4) == 1))
          note(pcall(string.match, text, pattern, from))
          note(pcall(string.gsub, text, pattern, replacements[random(#replacements)], random(3) == 1 and random(-1, 4) or nil))
          note(pcall(function()
            local found = {}
            for a, b, c in text:gmatch(pattern, from) do
              found[#found + 1] = tostring(a) .. tostring(b) .. tostring(c)
              if #found > 20 then break end
            end
            return found
          end))
        end
        local numbers = { 0, 1, 2, 3, -1, 7, math.maxinteger, math.mininteger, "2", 1.5, "x", {} }
        local function number() return numbers[random(#numbers)] end
        for round = 1, 3000 do
          local list = {}
          for i = 1, random(0, 6) do list[i] = random(9) end
          note(pcall(table.insert, list, random(0, 8), "x")) note(list)
          note(pcall(table.insert, list, "y")) note(list)
          note(pcall(table.remove, list, random(3) == 1 and random(-1, 9) or nil)) note(list)
          note(pcall(table.concat, list, some(letters, 2), random(-1, 4), random(-1, 8)))
          local to = random(2) == 1 and {} or nil
          note(pcall(table.move, list, random(-1, 4), random(-1, 6), random(-1, 6), to) ) note(list, to)
          note(pcall(table.unpack, list, random(-1, 4), random(-1, 8)))
          note(pcall(string.rep, some(letters, 3), random(-2, 70), random(2) == 1 and some(letters, 2) or nil))
          local sorted = {}
          for i = 1, random(0, 40) do sorted[i] = random(99) end
          note(pcall(table.sort, sorted, random(2) == 1 and function(a, b) return a > b end or nil)) note(sorted)
          note(pcall(number() == 0 and string.rep or table.unpack, number(), number(), number()))
          note(pcall(table.insert, number(), number())) note(pcall(table.concat, number())) note(pcall(tonumber, number(), 10))
        end
        for _, call in ipairs { "string.rep()", "string.rep('x')", "string.find()", "string.find('a')", "string.gsub('a', 'a')",
          "table.insert({}, 1, 2, 3)", "table.insert({})", "table.insert({}, 5, 1)", "table.sort({ 1, 'a' })", "table.sort({ 1, {} })",
          "table.sort({ 3, 2, 1 }, 5)", "table.concat({ {} })", "table.unpack({}, 1, 1e8)", "table.move({}, 1, math.maxinteger, 2)",
          "table.move({}, -1, math.maxinteger, 2)", "load(5)", "load()", "load(function() return {} end)", "load('x =')", "xpcall()",
          "xpcall(error)", "xpcall(error, error, 5)", "('x'):rep(1e10)", "('x'):rep(math.maxinteger, 'y')", "utf8.len('\\xff')",
          "utf8.codes('\\x80')", "tonumber('z', 36)", "tonumber('z', 99)", "string.format('%d', 1.5)", "string.format('%s', {} == nil)" } do
          note(pcall(assert(load("return " .. call, "=call"))))
        end
        note(xpcall(function(...) error({ ... }) end, function(e) return #e end, 1, 2, 3))
        note(xpcall(function(...) return select("#", ...), ... end, error, nil, 2))
        note(load("return ...", "=x", "t", {})(5)) note(load("return a", "=x", "t", { a = 6 })()) note(load("return a", "=x", "t", nil))
        local parts = { "return ", "1 ", "+ 2" }
        note(load(function() return table.remove(parts, 1) end, "=parts")())
        local co = coroutine.wrap(function() return xpcall(function() return coroutine.yield(1) end, error) end)
        note(co()) note(co(2))
        for position, code in utf8.codes("aé€") do note(position, code) end
        note(utf8.len("aé€"), utf8.offset("aé€", 3), utf8.codepoint("aé€", 1, -1))
        give(table.concat(results, "\n"))
        """#

    @Test func boundedFunctionsMatchThoseOfLua() throws {
        var texts: [[String]] = []
        for sandboxed in [false, true] {
            let script = try Script(sandboxed: sandboxed)
            nonisolated(unsafe) var bytes: [UInt8] = []
            try script.register("give") { bytes = $0.string(0).map(Array.init) ?? [] }
            try script.run(SandboxEndingTests.calls, name: "calls")
            let text = String(decoding: bytes, as: UTF8.self)
            texts.append(text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
        }
        #expect(texts[0].count == texts[1].count && texts[0].count > 50_000)
        let differing = zip(texts[0], texts[1]).filter { $0 != $1 }
        for (expected, got) in differing.prefix(10) { Issue.record("expected \(expected), got \(got)") }
    }
}
