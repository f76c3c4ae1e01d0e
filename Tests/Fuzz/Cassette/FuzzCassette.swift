import NIOCore
import NightjarHTTP
import NightjarTesting

/// Fuzzes the cassette reader. Aborts if one of these invariants is violated:
///
/// - A cassette that is written and read again is unchanged.
/// - A scrubbed cassette is still a cassette, and its Authorization fields contain no credentials.
/// - Playing each recorded request ends.
/// - Nothing traps, hangs or grows without bound.
func fuzzCassette(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, let cassette = try? Cassette(parsing: UnsafeRawBufferPointer(start: start, count: count)) else {
        return 0
    }
    require(read(cassette) == cassette, "the written text is parsed differently")
    var scrubber = SecretScrubber(CassetteSecrets(additionalNames: ["x-key"]), .names(after: 0))
    let scrubbed = Cassette(cassette.exchanges.map { scrubber.scrub($0) })
    require(read(scrubbed) != nil, "the scrubbed recording is not a cassette")
    for exchange in scrubbed.exchanges {
        for value in exchange.request.headers.values("Authorization") {
            let secret = value.split(separator: " ").last ?? ""
            require(secret.isEmpty || secret.hasPrefix(SecretScrubber.prefix), "a credential was not removed: \(value)")
        }
    }
    var player = CassettePlayer(scrubbed, CassetteComparison(), CassetteSecrets(), repeats: true, file: "fuzz")
    for exchange in scrubbed.exchanges {
        guard let url = try? RequestURL(exchange.request.url) else {
            require(false, "an invalid URL was accepted")
            continue
        }
        let request = ArrivedRequest(
            method: exchange.request.method, url: url, headers: exchange.request.headers,
            body: exchange.request.body.bytes)
        if case .play(let played) = player.play(request) { _ = played.script(replaysTiming: true) }
    }
    return 0
}

private func read(_ cassette: Cassette) -> Cassette? {
    guard let text = try? cassette.encoded() else { return nil }
    return text.withUnsafeReadableBytes { try? Cassette(parsing: $0) }
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
