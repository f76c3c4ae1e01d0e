import NIOCore
import NightjarHTTP

/// Fuzzes the readers of challenges, token responses, authorization redirects and rate limits. Aborts if one of these
/// invariants is violated:
///
/// - Nothing traps, and the amount of parsed data is bounded.
/// - The credentials for a challenge fit into a header field and never contain the password.
/// - No wait is negative.
/// - An authorization code is accepted only with the expected state, and the browser page contains no unescaped input.
/// - No description of a token contains that token, and no error contains a token or password.
///
/// The first byte selects the reader.
func fuzzAuth(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 1 else { return 0 }
    let input = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    switch start[0] % 5 {
    case 0: challenge(input)
    case 1: limits(input, status: start[0] & 8 == 0 ? 429 : 200)
    case 2: tokens(input, status: [200, 400, 401, 403, 500][Int(start[0] >> 3) % 5])
    case 3: device(input)
    default: browser(input)
    }
    return 0
}

/// A substitute for a hash function. The result depends only on the length of the input.
private let hash: DigestAuthentication.Hash = { bytes in
    [UInt8](repeating: UInt8(truncatingIfNeeded: bytes.count), count: 32)
}

private func challenge(_ input: UnsafeRawBufferPointer) {
    // `Headers` rejects forbidden bytes, as the decoder does.
    var headers = Headers()
    for line in lines(input) { try? headers.add("WWW-Authenticate", line) }
    let fields = headers.values("WWW-Authenticate")
    let challenges = Challenge.parse(fields)
    require(challenges.count <= Challenge.largestCount, "too many challenges")
    var login = DigestAuthentication(
        user: "user \"ä\"", password: "s3cret", hashes: [.sha512_256: hash, .sha256: hash, .md5: hash])
    guard let url = try? RequestURL("http://h/a?b") else { return }
    var call = DigestAuthentication.Repetitions()
    for _ in 0..<3 {
        let verdict = login.challenged(challenges, for: url, body: .none, &call)
        guard case .respond = verdict else { return }
        var last = ""
        for _ in 0..<2 {
            let random = [UInt8](repeating: 7, count: DigestAuthentication.randomByteCount)
            guard let value = login.authorization(.get, url, body: .none, random: random) else { continue }
            last = value
            require(!value.contains("s3cret"), "the password is sent")
            require(
                value.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F || $0.value == 9 },
                "an invalid value: \(value)")
            var headers = Headers()
            require((try? headers.set("Authorization", value)) != nil, "a refused value: \(value)")
            require(Challenge.parse([value]).first?.scheme == "digest", "an invalid Digest value: \(value)")
        }
        _ = login.accepted(fields.first, to: last, from: url.origin)
        _ = login.accepted(fields.first, to: fields.last ?? "", from: url.origin)
    }
}

private func limits(_ input: UnsafeRawBufferPointer, status: Int) {
    let names = [
        "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
        "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "Date",
    ]
    var headers = Headers()
    for (index, line) in lines(input).prefix(40).enumerated() { try? headers.add(names[index % names.count], line) }
    let now: UInt64 = 1_000_000_000_000
    if let requested = RetryAfter.duration(headers, now: 1e9) { require(requested >= .zero, "a negative wait") }
    var settings = LimitGate.Settings()
    settings.rate = RateLimiter.Rate(count: 10, per: .seconds(1))
    settings.concurrency = 2
    settings.breaker = CircuitBreaker.Settings()
    var gate = LimitGate(settings)
    var (entered, refused): (Set<UInt64>, Set<UInt64>) = ([], [])
    func take(_ releases: [LimitGate.Release]) {
        for release in releases {
            switch release {
            case .enter(let id, _, _): require(entered.insert(id).inserted, "a call entered twice")
            case .refuse(let id, let refusal):
                require(refused.insert(id).inserted, "a call was refused twice")
                require(refusal.error(of: "h").message.utf8.count < 1024, "a message that is too long")
            }
        }
    }
    for id in 0..<6 {
        switch gate.arrive(UInt64(id), deadline: id % 2 == 0 ? nil : now + 5_000_000_000, now: now + UInt64(id)) {
        case .enter(let permit):
            entered.insert(UInt64(id))
            var current: LimitGate.Permit? = permit
            take(gate.received(&current, status: status, headers, now: now + UInt64(id), wallClock: 1e9))
            take(gate.left(current ?? permit, .succeeded, now: now + UInt64(id)))
        case .wait: break
        case .refuse: refused.insert(UInt64(id))
        }
    }
    for step in 0..<4 { take(gate.timerFired(now: now + UInt64(step) * 100_000_000_000_000)) }
    require(entered.isDisjoint(with: refused), "a call entered and was refused")
}

private func tokens(_ input: UnsafeRawBufferPointer, status: Int) {
    let now = Timestamp.epoch
    let old = Token(access: "s3cret", refresh: "s3cret")
    func check(_ response: TokenResponse) {
        guard case .token(let token) = response else { return }
        require(
            !"\(token) \(String(reflecting: token))".contains(token.access) || token.access.utf8.count < 20, "shown")
        if let value = token.authorization {
            var headers = Headers()
            require((try? headers.set("Authorization", value)) != nil, "a token that cannot be sent")
        }
        if let expiry = token.expiry { require(expiry >= now, "a token with a negative lifetime") }
    }
    do throws(NightjarError) {
        check(try TokenResponse(status: status, body: input, replacing: old, at: now))
    } catch {
        checkReported(error)
    }
    do throws(NightjarError) {
        check(try TokenPointers().read(status: status, body: input, replacing: old, at: now))
    } catch {
        checkReported(error)
    }
}

private func checkReported(_ error: NightjarError) {
    require(!error.message.contains("s3cret") && error.message.utf8.count < 4096, "an error with a secret: \(error)")
}

private func device(_ input: UnsafeRawBufferPointer) {
    guard let authorization = try? DeviceAuthorization(status: 200, body: input) else { return }
    require(authorization.interval > .zero && authorization.lifetime >= .zero, "an invalid interval")
    var flow = DeviceFlow(authorization)
    var now: UInt64 = 0
    var ended = false
    var actions = flow.begin(now: now)
    for round in 0..<20 where !ended {
        for action in actions {
            switch action {
            case .show(let code, let page, _):
                require(
                    (code + page).unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F },
                    "a control character")
            case .startTimer(let wait): require(wait >= .zero, "a negative wait")
            case .poll: break
            case .done, .fail: ended = true
            }
        }
        now += 86_400_000_000_000
        actions = flow.timerFired(now: now)
        guard actions.contains(where: { if case .poll = $0 { true } else { false } }) else { continue }
        let refusal = TokenResponse.Refusal(code: round % 2 == 0 ? "slow_down" : "authorization_pending")
        actions = flow.received(.success(.refused(refusal)), now: now)
    }
}

private func browser(_ input: UnsafeRawBufferPointer) {
    let random = [UInt8](repeating: 1, count: ProofKey.randomByteCount)
    guard let proof = ProofKey(random: random, sha256: hash) else { return }
    var login = AuthorizationCode(
        clientID: "id", port: 1, random: [UInt8](repeating: 9, count: AuthorizationCode.randomByteCount), proof: proof)
    let state = "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk"
    for target in lines(input).prefix(16) {
        let response = login.requested(.get, target)
        let page = String(buffer: response.reply.bytes)
        require(page.hasPrefix("HTTP/1.1 ") && page.utf8.count < 4096, "not an HTTP response")
        require(!page.contains("<script"), "the page contains unescaped input")
        if case .code = response.outcome {
            require(target.contains(state), "a code was accepted without the state: \(target)")
        }
    }
}

private func lines(_ input: UnsafeRawBufferPointer) -> [String] {
    input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
    }
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
