import NIOCore
import NightjarHTTP
import NightjarTransport

extension Configuration {
    /// - Throws: `invalid_argument` if the name of the shared loop is empty; `connect` if no thread or descriptor is left.
    func openLoop() throws(NightjarError) -> LoopThread {
        guard sharedLoop?.isEmpty != true else {
            throw NightjarError(.invalidArgument, "the name of the shared loop is empty")
        }
        return try LoopThread(sharedAs: sharedLoop)
    }

    /// Creates the client's transport: the network or its replacement, and the layers above.
    ///
    /// The layers from the bottom up: the network; a session recording (only without a cassette and a mock), or the
    /// cassette that records or replays; the mock; the network profile. Layers that are not configured are omitted.
    ///
    /// - Parameter replacement: Creates a transport that replaces the network. Nil: the network.
    /// - Returns: The transport, and the network below it; nil if the network was replaced.
    /// - Throws: `invalid_argument` or `tls` if the options of the network are invalid; `storage` if the key log file
    ///   cannot be opened.
    func openTransport(
        _ replacement: ((any EventLoop) -> any HTTPTransport)?, _ cassette: CassetteSession?, on thread: LoopThread,
        base: RequestURL?
    ) throws(NightjarError) -> (carrier: any HTTPTransport, network: NetworkTransport?) {
        let loop = thread.loop
        var carrier: any HTTPTransport
        var opened: NetworkTransport?
        if let replacement {
            carrier = replacement(loop)
        } else {
            var settings = transport
            settings.userAgent = settings.userAgent ?? userAgent
            settings.tls.baseOrigin = base?.origin
            guard base != nil || settings.tls.clientCertificate == nil else {
                throw NightjarError(
                    .invalidArgument,
                    "tls.client_certificate is sent only to the origin of the base URL; set a base URL, or set the "
                        + "certificate in tls.hosts")
            }
            guard !isEphemeral || settings.tls.keyLogFile == nil else {
                throw NightjarError(
                    .invalidArgument, "an ephemeral client writes nothing to disk, so it cannot have a key log file")
            }
            let network = try NetworkTransport(loop: loop, clock: thread.clock, configuration: settings)
            opened = network
            carrier = network
        }
        if let recording, cassette == nil, mock == nil {
            let recorder = recording.recorder(sensitive: sensitiveHeaders, isEphemeral: isEphemeral)
            carrier = RecordingTransport(recorder, over: carrier)
        }
        if let cassette { carrier = cassette.transport(over: carrier, on: loop) }
        if let mock { carrier = mock.transport(over: carrier, on: loop, base: base) }
        if let profile = network { carrier = ThrottledTransport(profile, over: carrier, on: loop) }
        return (carrier, opened)
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
