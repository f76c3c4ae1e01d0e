/// One PUT or POST request with the whole content.
struct PlainRules: UploadRules {
    let method: Method

    func canRepeatCreation(_ facts: UploadFacts) -> Bool { method == .put }

    func creation(_ facts: UploadFacts) -> UploadRequest {
        var request = UploadRequest(.creation, method, nil, [("Content-Type", facts.contentType)])
        if let field = facts.digest?.field { request.headers.append(("Repr-Digest", field)) }
        request.body = .content(0..<(facts.total ?? .max))
        return request
    }

    func append(_ range: Range<Int>, isLast: Bool, _ facts: UploadFacts) -> UploadRequest { creation(facts) }

    func responded(_ request: UploadRequest, _ response: UploadResponse, _ facts: UploadFacts) -> UploadOutcome {
        .complete
    }
}
