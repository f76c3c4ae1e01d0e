import NIOCore
import NightjarHTTP
import NightjarTesting
import Testing

@testable import Nightjar

@Suite struct SessionRecordingTests {
    private typealias Step = ScriptedTransport.Step

    private func client(
        _ recording: SessionRecording, _ scripts: [[Step]], _ configure: (inout Configuration) -> Void = { _ in }
    ) throws -> Client {
        try NightjarTests.client(ScriptedTransport(scripts)) {
            $0.recording = recording
            configure(&$0)
        }
    }

    private func respond(_ body: String) -> [Step] { [.head(200), .body(body), .end] }

    private func saved(
        _ recording: SessionRecording, _ steps: Set<Int>, _ literals: [String] = []
    ) -> SessionRecording.Saved {
        recording.cassettes(of: steps, secrets: CassetteSecrets(), literals: literals)
    }

    private func bodies(_ cassette: Cassette) -> [String] {
        cassette.exchanges.map { String(buffer: $0.response?.body.bytes ?? ByteBuffer()) }
    }

    @Test func unrequestedStepsAreOmitted() throws {
        let recording = SessionRecording()
        recording.begin(step: 1)
        let one = try client(recording, [respond("a"), respond("b"), respond("c")])
        for (step, path) in [(2, "/a"), (3, "/b"), (4, "/c")] {
            recording.begin(step: step)
            _ = try one.sendBlocking(Request(.get, path))
        }
        let saved = saved(recording, [1, 2, 4])
        #expect(saved.cassettes.map(bodies) == [["a", "c"]])
        #expect(saved.losses.isEmpty)
        one.close()
    }

    @Test func eachClientHasACassetteInOrderOfCreation() throws {
        let recording = SessionRecording()
        var clients: [Client] = []
        for step in 1...3 {
            recording.begin(step: step)
            clients.append(try client(recording, [respond("\(step)")]))
        }
        recording.begin(step: 4)
        for client in clients.reversed() { _ = try client.sendBlocking(Request(.get, "/")) }
        #expect(saved(recording, [1, 3, 4]).cassettes.map(bodies) == [["1"], ["3"]])
        for client in clients { client.close() }
    }

    @Test func namesOfSecretsAreReported() throws {
        let recording = SessionRecording()
        recording.begin(step: 1)
        let one = try client(
            recording, [respond("{\"access_token\":\"T-1234567\",\"by\":\"moonlight\"}"), respond("T-1234567")])
        _ = try one.sendBlocking(Request(.get, "/"))
        _ = try one.sendBlocking(Request(.get, "/"))
        let saved = saved(recording, [1], ["moonlight", "abc"])
        #expect(
            bodies(saved.cassettes[0]) == ["{\"access_token\":\"scrubbed-3\",\"by\":\"scrubbed-1\"}", "scrubbed-3"])
        #expect(saved.names.map(\.secret) == ["moonlight", "T-1234567", "abc"])
        #expect(saved.names.map(\.name) == ["scrubbed-1", "scrubbed-3", "scrubbed-2"])
        #expect(saved.names.map(\.isEverywhere) == [true, true, false])
        one.close()
    }

    @Test func stepWithAShortSecretIsDropped() throws {
        let recording = SessionRecording()
        recording.begin(step: 1)
        let one = try client(recording, [respond("the key is k3yz."), respond("nk3yz")])
        recording.begin(step: 2)
        _ = try one.sendBlocking(Request(.get, "/"))
        recording.begin(step: 3)
        _ = try one.sendBlocking(Request(.get, "/"))
        let saved = saved(recording, [1, 2, 3], ["k3yz"])
        #expect(saved.losses.map(\.step) == [2])
        #expect(saved.losses[0].reason == "it contains a secret that is too short to be distinguished from other words")
        #expect(saved.cassettes.map(bodies) == [["nk3yz"]])
        one.close()
    }

    @Test func tooLargeExchangeIsReportedAndNotRecorded() throws {
        let recording = SessionRecording()
        recording.begin(step: 1)
        let large = String(repeating: "x", count: SessionRecording.largestBody + 1)
        let one = try client(recording, [respond(large), respond("a")])
        recording.begin(step: 2)
        _ = try one.sendBlocking(Request(.get, "/"))
        recording.begin(step: 3)
        _ = try one.sendBlocking(Request(.get, "/"))
        let saved = saved(recording, [1, 2, 3])
        #expect(saved.losses.map(\.step) == [2])
        #expect(saved.losses[0].reason == "GET http://api.test/v1/ has a body that is larger than 4 MiB")
        #expect(saved.cassettes.map(bodies) == [["a"]])
        one.close()
    }

    @Test func stepsWithRequestsAreReported() throws {
        let recording = SessionRecording()
        recording.begin(step: 1)
        let one = try client(recording, [respond("a"), respond("b")])
        recording.begin(step: 2)
        _ = try one.sendBlocking(Request(.get, "/"))
        recording.begin(step: 3)
        #expect(saved(recording, [1, 2, 3]).active == [2])
        #expect(saved(recording, [1]).active == [])
        one.close()
    }

    @Test func fullSessionKeepsItsExchanges() throws {
        let recording = SessionRecording()
        recording.begin(step: 1)
        let part = String(repeating: "x", count: SessionRecording.largestBody)
        let one = try client(recording, Array(repeating: respond(part), count: 9) + [respond("a")])
        for step in 1...10 {
            recording.begin(step: step)
            _ = try one.sendBlocking(Request(.get, "/"))
        }
        let saved = saved(recording, Set(1...10))
        #expect(saved.losses.map(\.step) == [9, 10])
        #expect(
            saved.losses[0].reason
                == "the recording of this session is full (at most 32 MiB and 10000 exchanges); start another session")
        #expect(saved.cassettes.map(\.exchanges.count) == [8])
        one.close()
    }

    @Test func unfinishedCallDropsItsStep() throws {
        let recording = SessionRecording()
        recording.begin(step: 1)
        let one = try client(recording, [])
        let task = try one.start(Request(.get, "/a"), on: nil, TaskHandlers { _, _ in })
        _ = one.limitStates()  // waits until the loop has processed the call
        #expect(saved(recording, [1]).losses.map(\.reason) == ["one of its calls has not finished"])
        task.cancel()
        _ = one.limitStates()  // waits until the loop has processed the cancellation
        #expect(
            saved(recording, [1]).losses.map(\.reason)
                == ["GET http://api.test/v1/a was cancelled before its response"])
        one.close()
    }

    @Test func ephemeralClientRecordsNothing() throws {
        let recording = SessionRecording()
        recording.begin(step: 1)
        let one = try client(recording, [respond("a")]) { $0.isEphemeral = true }
        _ = try one.sendBlocking(Request(.get, "/"))
        let saved = saved(recording, [1])
        #expect(saved.losses.map(\.reason) == ["it uses an ephemeral client, which writes nothing to disk"])
        #expect(saved.cassettes.isEmpty)
        one.close()
    }
}
