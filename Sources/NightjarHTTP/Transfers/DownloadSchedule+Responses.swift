/// The heads of responses, and failures.
extension DownloadSchedule {
    /// Handles the head of a response. Returns whether its body is read.
    package mutating func opened(_ number: Int, status: Int, _ headers: Headers) -> Bool {
        guard case .connecting(let requested) = connections[number].phase else { return false }
        guard DownloadSchedule.statuses.contains(status) else {
            fail(
                NightjarError(
                    .protocol,
                    "the download failed: the server responded with the status \(status) instead of 200, 203 or 206",
                    phase: .receive, requestMayHaveBeenProcessed: true))
            return false
        }
        let coding = headers["content-encoding"]?.lowercased() ?? "identity"
        let isCoded = coding != "identity" && !coding.isEmpty
        // Without a Range field in the request, a 200 is the whole content.
        guard let part = headers.contentRange, status == 206 || requested != nil else {
            if status == 206 { return reject(number, "the status is 206 without a valid Content-Range") }
            return openedWhole(number, requested, headers, isCoded: isCoded)
        }
        if isCoded { return reject(number, "the range is compressed") }
        return openedPart(number, requested, part, headers)
    }

    private mutating func openedPart(
        _ number: Int, _ requested: Range<Int>?, _ part: ContentRange, _ headers: Headers
    ) -> Bool {
        let wanted = requested ?? 0..<Int.max
        guard part.bytes.lowerBound <= wanted.lowerBound, wanted.lowerBound < part.bytes.upperBound else {
            return reject(
                number, "Content-Range begins at byte \(part.bytes.lowerBound) instead of \(wanted.lowerBound)")
        }
        if let length = contentLength(headers), length != part.bytes.count {
            return reject(number, "Content-Length (\(length)) differs from Content-Range (\(part.bytes.count) bytes)")
        }
        var wholeEnd: Int?
        if validator != nil || !received.isEmpty {
            if isContradicted(by: headers) { return changed(number, "the content has changed") }
            if let digest, let other = Checksum(headers, field: "repr-digest"), other.algorithm == digest.algorithm,
                other != digest
            {
                return changed(number, "the digest of the content has changed")
            }
            if let total, let length = part.completeLength, length != total {
                return changed(number, "the length of the content has changed from \(total) to \(length) bytes")
            }
            if let total, part.bytes.upperBound > total {
                return changed(number, "the content is longer than \(total) bytes")
            }
            if let length = part.completeLength, length < received.end {
                return changed(number, "the content is shorter than the part")
            }
        } else {
            learn(headers)
            // Without a strong validator, several responses must not be combined.
            if validator == nil, part.completeLength != part.bytes.upperBound || requested == nil {
                guard requested != nil else { return reject(number, "the status is 206 for a request without Range") }
                return requestEverything(number)
            }
            // The rest could not be requested later.
            if validator == nil { wholeEnd = part.bytes.upperBound }
        }
        if let length = part.completeLength {
            guard admits(length) else { return false }
            total = length
        }
        let end = min(part.bytes.upperBound, wholeEnd ?? suppliedEnd(number, after: wanted))
        isPartEmpty = false
        connections[number].phase = .receiving(
            Receiving(
                skip: wanted.lowerBound - part.bytes.lowerBound, start: wanted.lowerBound, next: wanted.lowerBound,
                end: end, announcedEnd: part.bytes.upperBound))
        return true
    }

    private mutating func openedWhole(
        _ number: Int, _ requested: Range<Int>?, _ headers: Headers, isCoded: Bool
    ) -> Bool {
        var length = isCoded ? nil : contentLength(headers)
        var start = 0
        // This response has all bytes. Responses to other requests may be of another content.
        for index in connections.indices where index != number { cancel(index) }
        if !received.isEmpty {
            let isSame =
                !isCoded && validator != nil && StrongValidator(headers) == validator
                && (length == nil || total == nil || length == total)
                && length ?? total ?? .max >= received.end
            if isSame {
                // The server ignores ranges. The bytes that are known are skipped.
                ignoresRanges = true
                start = received.firstGap(below: .max)?.lowerBound ?? 0
                // The body must not end before the length that another response has announced.
                length = length ?? total
            } else {
                let reason =
                    isContradicted(by: headers) ? "the content has changed" : "the server sent the whole content again"
                guard startOver(because: reason, keeping: number) else { return false }
            }
        } else if requested != nil {
            ignoresRanges = true
        }
        if received.isEmpty {
            self.isCoded = isCoded
            learn(headers)
        }
        if let length {
            guard admits(length) else { return false }
            total = length
        }
        let end = length ?? .max
        isPartEmpty = false
        connections[number].phase = .receiving(
            Receiving(skip: start, start: start, next: start, end: end, announcedEnd: end))
        return true
    }

    /// Whether a response has other content than the earlier ones. Its date counts only without an entity tag, because
    /// the servers of one name may have different dates for the same file.
    private func isContradicted(by headers: Headers) -> Bool {
        if let validator, validator.isContradicted(by: headers) { return true }
        guard headers["etag"] == nil, let modified, let date = headers.date("last-modified") else { return false }
        return date != modified
    }

    /// Replaces what is known about the content while no byte was received.
    private mutating func learn(_ headers: Headers) {
        // Writes of a cancelled response may have reached the part.
        if !isPartEmpty { actions.append(.reset) }
        isPartEmpty = true
        total = nil
        validator = isCoded ? nil : StrongValidator(headers)
        digest = isCoded ? nil : Checksum(headers, field: "repr-digest")
        modified = headers.date("last-modified")
        name = FileName.suggested(by: headers)
    }

    mutating func admits(_ length: Int) -> Bool {
        guard let limit = settings.maximumSize, length > limit else { return true }
        fail(DownloadSchedule.tooLarge(limit))
        return false
    }

    private func contentLength(_ headers: Headers) -> Int? {
        guard let index = headers.firstIndex(of: "content-length") else { return nil }
        return headers.withBytes(at: index) { ByteRange.number($1) }
    }

    // MARK: Responses that are not used

    /// Requests the whole content on the same connection. The present response is not used.
    private mutating func requestEverything(_ number: Int) -> Bool {
        usesRanges = false
        (total, digest) = (nil, nil)
        cancel(number)
        plan()
        return false
    }

    /// Handles a changed content. The present response is not used.
    private mutating func changed(_ number: Int, _ reason: String) -> Bool {
        cancel(number)
        if startOver(because: reason) { plan() }
        return false
    }

    /// Handles a response that violates the rules for ranges. The range is requested once more. After that, the whole
    /// content is requested.
    @discardableResult
    mutating func reject(_ number: Int, _ reason: String) -> Bool {
        var isWhole = false
        if case .connecting(nil) = connections[number].phase { isWhole = true }
        let wasReceiving = if case .receiving = connections[number].phase { true } else { false }
        cancel(number)
        rejections += 1
        guard !isWhole, usesRanges, settings.restarts || rejections == 1 else {
            fail(
                NightjarError(
                    .protocol, "the server sent an invalid range: \(reason)", phase: .receive,
                    requestMayHaveBeenProcessed: true))
            return false
        }
        // Bytes of the response may have been written.
        if rejections > 1 || wasReceiving {
            usesRanges = false
            guard startOver(because: "the server sent an invalid range: \(reason)") else { return false }
        }
        plan()
        return false
    }

    // MARK: Failures

    mutating func failed(_ number: Int, _ error: NightjarError, using random: inout some RandomNumberGenerator) {
        if error.status == 416, case .connecting(.some) = connections[number].phase {
            return rangeIsUnsatisfiable(number, error)
        }
        if error.status == 304, let response = error.response {
            connections[number].phase = .idle
            return fail(
                NightjarError(
                    error.kind,
                    "the download failed: the server responded with the status 304 (Not Modified), which has no content; "
                        + "remove If-None-Match and If-Modified-Since from the request", response: response))
        }
        connections[number].failures += 1
        let failures = connections[number].failures
        connections[number].phase = .idle
        guard TransferSettings.isTemporary(error), failures < settings.attempts else {
            // A server may accept fewer connections.
            guard isActive || isWaiting, TransferSettings.isTemporary(error) || error.kind == .forbidden else {
                return fail(error)
            }
            connections[number].phase = .unused
            return
        }
        if !canContinue, !received.isEmpty {
            guard settings.restarts else { return fail(error) }
            guard startOver(because: "a connection broke off, and the content has no strong validator") else { return }
        }
        wait(number, TransferSettings.wait(afterFailures: failures, settings.retryDelay, error, using: &random))
    }

    /// Handles the status 416. The part is complete if it has the length that the server reports.
    private mutating func rangeIsUnsatisfiable(_ number: Int, _ error: NightjarError) {
        let length = error.response?.headers["content-range"].flatMap(DownloadSchedule.unsatisfiedLength)
        connections[number].phase = .idle
        if let length, total == nil || total == length, received.ranges == (length == 0 ? [] : [0..<length]) {
            total = length
            return plan()
        }
        if received.isEmpty, validator == nil {
            // The request only tried whether the server supports ranges.
            usesRanges = false
            return plan()
        }
        if startOver(because: "the server does not have the requested bytes") { plan() }
    }

    /// Reads `bytes */1234`. RFC 9110 section 14.4.
    private static func unsatisfiedLength(_ value: String) -> Int? {
        guard value.lowercased().hasPrefix("bytes */") else { return nil }
        return value.utf8.dropFirst(8).withContiguousStorageIfAvailable {
            ByteRange.number(EntityTag.trimmed(UnsafeRawBufferPointer($0)))
        } ?? nil
    }

    /// The statuses of responses that have the content or a range of it. RFC 9110 sections 15.3.1, 15.3.4 and 15.3.7.
    package static let statuses = [200, 203, 206]
}
