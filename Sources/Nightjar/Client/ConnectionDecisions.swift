import NightjarTransport

extension Configuration {
    /// Requests the caller's decisions about connections. Nil: connections wait for no decisions.
    var connectionDecisions: ((ConnectionChallenge, Call) -> Bool)? {
        let handshakes = onChallenge.map(HandshakeDecisions.init)
        let addresses = AddressDecisions(resolver: resolver, filter: onAddresses)
        guard handshakes != nil || addresses != nil else { return nil }
        return { challenge, call in
            addresses?.request(challenge, for: call) == true || handshakes?.request(challenge, for: call) == true
        }
    }
}
