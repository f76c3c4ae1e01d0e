import NIOCore
import NightjarHTTP
import NightjarTransport

extension Configuration {
    /// What carries requests: the network, or what is put in its place. From below: the network, the session or the cassette
    /// that records it or the one that replays it, the mock, and the profile that makes all of it worse. What is not set is not there.
    func staged(
        _ network: any HTTPTransport, _ cassette: CassetteDeck?, on loop: any EventLoop, base: RequestURL?
    ) -> any HTTPTransport {
        var carrier = network
        if let recording, cassette == nil, mock == nil {
            let recorder = recording.recorder(sensitive: sensitiveHeaders, isEphemeral: isEphemeral)
            carrier = RecordingTransport(recorder, over: carrier)
        }
        if let cassette { carrier = cassette.transport(over: carrier, on: loop) }
        if let mock { carrier = mock.transport(over: carrier, on: loop, base: base) }
        if let profile = self.network { carrier = ShapedTransport(profile, over: carrier, on: loop) }
        return carrier
    }

    /// - Throws: `invalid_argument` for an ephemeral client that would record; `storage` and `decoding` for the file.
    func openCassette() throws(NightjarError) -> CassetteDeck? {
        guard let cassette else { return nil }
        guard !isEphemeral || cassette.mode == .replay else {
            throw NightjarError(
                .invalidArgument,
                "an ephemeral client leaves nothing on disk, so it can replay a cassette and not record one")
        }
        return try CassetteDeck(cassette, sensitive: sensitiveHeaders)
    }
}
