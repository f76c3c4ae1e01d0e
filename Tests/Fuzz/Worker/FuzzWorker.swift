import NightjarHTTP

/// Fuzzes the protocol of the worker's local socket. Aborts if one of these invariants is violated:
///
/// - Each line gets a response of one line. A program of this version can read it.
/// - A response has only numbers that are not negative.
/// - A response that was read and written again is read as the same progress.
func fuzzWorker(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start else { return 0 }
    let input = UnsafeBufferPointer(start: start, count: count)
    let line = input.prefix { $0 != WorkerMessage.newline }
    let example: WorkerMessage.Progress = [7: TransferProgress(transferred: 1, total: 2, rate: 0.5)]
    let response = WorkerMessage.response(to: line) { example }
    require(
        response.last == WorkerMessage.newline && response.count { $0 == WorkerMessage.newline } == 1, "not one line")
    let found = WorkerMessage.progress(from: response)
    require(found.isEmpty || found == example, "the progress has changed")
    let progress = WorkerMessage.progress(from: line)
    for each in progress.values {
        require(each.transferred >= 0 && (each.total ?? 0) >= 0 && (each.rate ?? 0) >= 0, "a negative number")
    }
    let again = WorkerMessage.progress(from: WorkerMessage.response(to: WorkerMessage.request.dropLast()) { progress })
    require(again == progress, "the progress was not read as it was written")
    return 0
}

private func require(_ condition: Bool, _ message: String) {
    if !condition { fatalError(message) }
}
