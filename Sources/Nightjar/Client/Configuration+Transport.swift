import NIOCore
import NightjarHTTP
import NightjarTransport

extension Configuration {
    /// Creates the client's transport: the network or its replacement, and the layers above.
    ///
    /// The layers from the bottom up: the network; a session recording, or the cassette that records or replays; the mock;
    /// the network profile. Layers that are not configured are omitted.
    ///
    /// - Parameter replacement: Creates a transport that replaces the network. Nil: the network.
    /// - Throws: `invalid_argument` or `tls` if the options of the network are invalid.
    func openTransport(
        _ replacement: ((any EventLoop) -> any HTTPTransport)?, _ cassette: CassetteSession?, on thread: LoopThread,
        base: RequestURL?
    ) throws(NightjarError) -> any HTTPTransport {
        let loop = thread.loop
        var carrier: any HTTPTransport
        if let replacement {
            carrier = replacement(loop)
        } else {
            var network = transport
            network.userAgent = network.userAgent ?? userAgent
            network.tls.baseOrigin = base?.origin
            guard base != nil || network.tls.clientCertificate == nil else {
                throw NightjarError(
                    .invalidArgument,
                    "tls.client_certificate is sent only to the origin of the base URL; set a base URL, or set the "
                        + "certificate in tls.hosts")
            }
            carrier = try NetworkTransport(loop: loop, clock: thread.clock, configuration: network)
        }
        if let recording, cassette == nil, mock == nil {
            let recorder = recording.recorder(sensitive: sensitiveHeaders, isEphemeral: isEphemeral)
            carrier = RecordingTransport(recorder, over: carrier)
        }
        if let cassette { carrier = cassette.transport(over: carrier, on: loop) }
        if let mock { carrier = mock.transport(over: carrier, on: loop, base: base) }
        if let profile = network { carrier = ThrottledTransport(profile, over: carrier, on: loop) }
        return carrier
    }

    /// - Throws: `invalid_argument` for an ephemeral client that would record; `storage` or `decoding` for an invalid
    ///   file.
    func openCassette() throws(NightjarError) -> CassetteSession? {
        guard let cassette else { return nil }
        guard !isEphemeral || cassette.mode == .replay else {
            throw NightjarError(
                .invalidArgument,
                "an ephemeral client writes nothing to disk, so it can replay cassettes but not record them")
        }
        return try CassetteSession(cassette, sensitive: sensitiveHeaders)
    }
}
