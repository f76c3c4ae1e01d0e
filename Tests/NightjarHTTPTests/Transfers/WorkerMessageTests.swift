import NightjarHTTP
import NightjarTestSupport
import Testing

@Suite struct WorkerMessageTests {
    private let progress: WorkerMessage.Progress = [
        1: TransferProgress(transferred: 5, total: 10, rate: 2.5),
        9_000_000_000: TransferProgress(transferred: 0, total: nil, rate: nil),
    ]

    private func response(to line: String) -> String {
        String(decoding: WorkerMessage.response(to: Array(line.utf8)) { progress }, as: UTF8.self)
    }

    @Test func progressArrivesUnchanged() {
        #expect(WorkerMessage.request.last == WorkerMessage.newline)
        let response = WorkerMessage.response(to: WorkerMessage.request.dropLast()) { progress }
        #expect(response.count { $0 == WorkerMessage.newline } == 1 && response.last == WorkerMessage.newline)
        #expect(WorkerMessage.progress(from: response) == progress)
    }

    @Test(arguments: [
        "", "{", "[]", "null", "\u{0}", "{\"version\":\"1\"}", #"{"version":2,"get":"progress"}"#,
        #"{"version":1,"get":"all"}"#,
        #"{"version":1,"get":1}"#,
    ])
    func otherRequestsGetAnError(line: String) {
        #expect(response(to: line).hasPrefix(#"{"version":1,"error":""#))
        #expect(WorkerMessage.progress(from: Array(response(to: line).utf8)).isEmpty)
    }

    /// A request without a command only wakes the worker.
    @Test func emptyRequestIsValid() { #expect(response(to: #"{"version":1}"#) == "{\"version\":1}\n") }

    @Test(arguments: [
        "", "{", "[]", #"{"progress":{"1":{"transferred":1}}}"#, #"{"version":2,"progress":{"1":{"transferred":1}}}"#,
        #"{"version":1,"progress":[1]}"#, #"{"version":1,"progress":{"1":1}}"#,
        #"{"version":1,"progress":{"1":{"transferred":-1}}}"#, #"{"version":1,"progress":{"1":{"transferred":1.5}}}"#,
        #"{"version":1,"progress":{"1":{"transferred":18446744073709551615}}}"#,
    ])
    func invalidResponsesHaveNoProgress(line: String) {
        #expect(WorkerMessage.progress(from: Array(line.utf8)).isEmpty)
    }

    @Test func invalidPartsAreOmitted() {
        let line =
            #"{"version":1,"more":1,"progress":{"1":{"transferred":1,"total":-5,"rate":-1,"later":2},"x":{"transferred":1},"2":true}}"#
        let found = WorkerMessage.progress(from: Array(line.utf8))
        #expect(found == [1: TransferProgress(transferred: 1, total: nil, rate: nil)])
    }
}
