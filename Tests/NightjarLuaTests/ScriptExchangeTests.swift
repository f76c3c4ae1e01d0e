import Foundation
import Nightjar
import NightjarDemo
import NightjarHTTP
import Synchronization
import Testing

@testable import NightjarLua

/// Values that a host and a script exchange as JSON, runs on a queue, and deferred results of host functions.
@Suite struct ScriptExchangeTests {
    // MARK: Values

    @Test func chunksReturnJSON() throws {
        for isSandboxed in [false, true] {
            let script = try Script(sandboxed: isSandboxed)
            #expect(try script.evaluate("") == [])
            #expect(try script.evaluate("return 1, nil, {a = {2.5}}") == [1, .null, ["a": [2.5]]])
            #expect(throws: NightjarError.self) { try script.evaluate("return function() end") }
            try script.run("return function() end")
        }
    }

    @Test func globalsAreJSON() throws {
        let script = try Script(sandboxed: true)
        let value: JSONValue = ["empty": [], "list": [1, .null, "x"], "none": .null]
        try script.setGlobal("value", json: value)
        #expect(try script.global("value") == value)
        try script.run("assert(#value.list == 3 and value.list[2] == nightjar.null) value = nil")
        #expect(try script.global("value") == .null)
        #expect(throws: NightjarError.self) { try script.setGlobal("value", json: .number(.nan)) }
        #expect(throws: NightjarError.self) { try script.global("pairs") }
    }

    @Test func functionsAreInvoked() throws {
        let script = try Script()
        try script.run(
            "function sum(t, x) local s = x or 0 for _, n in ipairs(t) do s = s + n end return s, x == nil end")
        #expect(try script.invoke("sum", [1, 2, 3]) == [6, true])
        #expect(try script.invoke("sum", [1, 2, 3], 4) == [10, false])
        #expect(try script.invoke("sum", [], .null) == [0, true])
        let (numbers, absent): ([Int], Int?) = ([4, 5], nil)
        #expect(try script.invoke("sum", numbers, absent) == [9, true])
        let error = #expect(throws: NightjarError.self) { try script.invoke("other") }
        #expect(error?.message == "invoke failed: the global 'other' is a nil value, not a function")
    }

    /// Neither `_G` nor a table is read or written through its metatable, so a metamethod cannot run without a limit.
    @Test func metamethodsAreNotCalled() throws {
        let script = try Script(sandboxed: true)
        try script.run(
            """
            local function loop() while true do end end
            odd = setmetatable({a = 1}, {__index = loop, __pairs = loop, __len = loop, __tostring = loop})
            setmetatable(_G, {__index = loop, __newindex = loop})
            """)
        #expect(try script.global("odd") == ["a": 1])
        #expect(try script.global("absent") == .null)
        try script.setGlobal("new", json: [1])
        #expect(try script.global("new") == [1])
        #expect(throws: NightjarError.self) { try script.invoke("absent") }
    }

    /// The error object's `__tostring` is the script's code. It runs with the limits of the run.
    @Test func errorsAreDescribedWithinTheLimits() throws {
        let script = try Script(sandboxed: true, limits: limiting { $0.instructions = 1_000_000 })
        try script.run(
            """
            function fail() error(setmetatable({}, {__tostring = function() while true do end end})) end
            function wait() error(setmetatable({}, {__tostring = function() nightjar.sleep(0) return 'x' end})) end
            """)
        #expect(throws: NightjarError.self) { try script.invoke("fail") }
        #expect(throws: NightjarError.self) { try script.invoke("wait") }
        #expect(try script.evaluate("return 1") == [1])
    }

    @Test func finalizersCannotReenterTheScript() throws {
        let script = try Script()
        nonisolated(unsafe) var kinds: [ErrorKind] = []
        try script.register("again") { [unowned script] _ in
            do throws(NightjarError) { _ = try script.evaluate("return 1") } catch { kinds.append(error.kind) }
        }
        try script.run(
            "function drop() setmetatable({}, {__gc = function() again() end}) end collectgarbage 'generational'")
        for _ in 0..<200 {
            try script.run("drop()")
            try script.setGlobal("list", json: .array(Array(repeating: ["a": 1], count: 1000)))
            _ = try script.global("list")
        }
        #expect(!kinds.isEmpty && kinds.allSatisfy { $0 == .reentrant })
    }

    // MARK: Runs on a queue

    /// Polls the queue until the run has ended.
    private func result(
        on queue: CompletionQueue,
        _ start: (@escaping @Sendable (Result<JSONValue, NightjarError>) -> Void) throws -> Void
    ) throws -> Result<JSONValue, NightjarError> {
        let ended = Mutex<Result<JSONValue, NightjarError>?>(nil)
        try start { result in ended.withLock { $0 = result } }
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline {
            if let result = ended.withLock({ $0 }) { return result }
            queue.poll(timeout: .milliseconds(100))
        }
        throw NightjarError(.timeout, "the run has not ended")
    }

    @Test func runsEndInTheQueue() throws {
        let (demo, queue) = (DemoServer(), CompletionQueue())
        defer {
            queue.close()
            demo.stop()
        }
        var configuration = Configuration()
        configuration.baseURL = "http://127.0.0.1:\(try demo.start())/v1"
        let client = try Client(configuration)
        let script = try Script(client: client, sandboxed: true)
        let source = "return nightjar.client():get('/articles/1').json.id, nightjar.sleep(0.01)"
        let ended = try result(on: queue) { try script.startRun(source, on: queue, finished: $0) }
        #expect(try ended.get() == [1])
        try script.run("function add(a, b) nightjar.sleep(0) return a + b end")
        let sum = try result(on: queue) { try script.startInvoke("add", 1, 2, on: queue, finished: $0) }
        #expect(try sum.get() == [3])
        client.close()
    }

    @Test func runsOfSeveralScriptsShareAQueue() throws {
        let queue = CompletionQueue()
        let count = Mutex(0)
        let scripts = try (0..<20).map { _ in try Script(sandboxed: true) }
        for script in scripts {
            try script.startRun("for i = 1, 20 do nightjar.sleep(0.001) end return 'x'", on: queue) { result in
                if case .success(["x"]) = result { count.withLock { $0 += 1 } }
            }
        }
        let deadline = ContinuousClock.now + .seconds(30)
        while count.withLock({ $0 }) < scripts.count, ContinuousClock.now < deadline {
            queue.poll(timeout: .seconds(1))
        }
        #expect(count.withLock { $0 } == scripts.count)
        queue.close()
    }

    /// A started run keeps its script, and the closing of the queue ends it.
    @Test func closingTheQueueEndsARun() throws {
        let queue = CompletionQueue()
        let kind = Mutex<ErrorKind?>(nil)
        weak var weakScript: Script?
        do {
            let script = try Script(sandboxed: true)
            weakScript = script
            try script.startRun("nightjar.sleep(60)", on: queue) { result in
                if case .failure(let error) = result { kind.withLock { $0 = error.kind } }
            }
        }
        queue.poll(timeout: .zero)
        #expect(weakScript != nil)
        queue.close()
        #expect(kind.withLock { $0 } == .cancelled)
        #expect(weakScript == nil)
        let script = try Script()
        #expect(throws: NightjarError.self) { try script.startRun("", on: queue) { _ in } }
        try script.run("")
    }

    // MARK: Deferred results

    @Test func hostFunctionsProvideResultsLater() throws {
        let queue = CompletionQueue()
        defer { queue.close() }
        let script = try Script(sandboxed: true)
        try script.register("later") { call in
            guard let value = try? call.json(0), let reply = call.deferResult() else { return call.fail("no reply") }
            Thread.detachNewThread {
                usleep(1000)
                try? reply.returnJSON(["given": value])
            }
        }
        let source = "return nightjar.map({1, 2, 3}, function(i) return later({i}).given[1] end)"
        #expect(try script.evaluate(source) == [[1, 2, 3]])
        let ended = try result(on: queue) { try script.startRun(source, on: queue, finished: $0) }
        #expect(try ended.get() == [[1, 2, 3]])
    }

    @Test func repliesOutliveTheirScript() throws {
        nonisolated(unsafe) var replies: [ScriptReply] = []
        do {
            let script = try Script(limits: limiting { $0.time = .milliseconds(20) })
            try script.register("later") { call in call.deferResult().map { replies.append($0) } }
            #expect(throws: NightjarError.self) { try script.run("later()") }
        }
        for reply in replies {
            let error = #expect(throws: NightjarError.self) { try reply.returnJSON(1) }
            #expect(error?.kind == .closed)
        }
        #expect(replies.count == 1)
    }
}
