/// A fault of a response with a file, and its position or amount.
struct TransferFault: Equatable {
    /// The raw value is the name in the parameter `faults`.
    enum Kind: String, CaseIterable {
        // Faults of the connection. The position is in the body, except for `cutHead`.
        /// The connection is closed without a response.
        case close
        /// The connection is closed inside the head.
        case cutHead = "cut-head"
        /// The connection is closed inside the body.
        case cut
        /// The connection is closed inside the line that precedes a chunk.
        case cutChunk = "cut-chunk"
        /// The connection is reset inside the body.
        case reset
        /// The body stops for `stall_time` seconds and then continues.
        case stall

        // Statuses. The amount is the number of seconds in Retry-After, or the status.
        case unavailable = "503"
        case status
        /// A 416 with the length of the content.
        case notSatisfiable = "416"
        /// A 416 without Content-Range.
        case notSatisfiableBare = "416-bare"

        // Faults of a range. The amount is a number of bytes.
        /// A Content-Range whose first position is too high.
        case rangeStart = "range-start"
        /// A Content-Range whose last position is too low.
        case rangeEnd = "range-end"
        /// A Content-Range whose complete length is too high.
        case rangeTotal = "range-total"
        /// A Content-Range with another unit.
        case rangeUnit = "range-unit"
        /// A Content-Range whose first position is above its last position.
        case rangeSyntax = "range-syntax"
        /// A 206 without Content-Range.
        case rangeMissing = "range-missing"
        /// A range that begins before the requested one.
        case rangeOverlap = "range-overlap"
        /// A range that begins after the start of the requested one.
        case rangeGap = "range-gap"
        /// A range that ends before the requested end. This is valid.
        case rangeShort = "range-short"
        /// A Content-Range whose complete length is unknown. This is valid.
        case rangeUnknown = "range-unknown"
        /// A range that is compressed during the transfer.
        case coded
        /// The whole content instead of a range, with the status 200.
        case whole
        /// A range with the status 200 and a Content-Range.
        case statusOK = "200-with-range"
        /// A 206 for a request without Range. The amount is the number of bytes.
        case unrequested = "206-unasked"

        // Faults of the length. The amount is a number of bytes.
        case lengthSmall = "length-small"
        case lengthLarge = "length-large"
        /// A range that is followed by more bytes. Content-Length includes them.
        case bodyLong = "body-long"

        /// One byte has another value.
        case damage
        /// No fault.
        case none
    }

    enum Position: Equatable {
        case unspecified
        /// A negative number counts from the end.
        case at(Int)
        /// A part of the possible values, from 0 to below 1.
        case fraction(Double)
    }

    var kind: Kind
    var position = Position.unspecified

    init(_ kind: Kind, _ position: Position = .unspecified) {
        (self.kind, self.position) = (kind, position)
    }

    /// Returns a position from 0 to `end`. The default is the middle.
    func position(within end: Int) -> Int {
        switch position {
        case .unspecified: end / 2
        case .at(let number): min(max(number < 0 ? end + number : number, 0), end)
        case .fraction(let part): Int(Double(end) * part)
        }
    }

    /// Returns an amount from 1 to `most`. The default is 1.
    func amount(atMost most: Int) -> Int {
        switch position {
        case .unspecified: 1
        case .at(let number): min(max(number, 1), most)
        case .fraction(let part): 1 + Int(Double(most - 1) * part)
        }
    }

    /// The number that the fault was configured with.
    var number: Int? {
        if case .at(let number) = position { number } else { nil }
    }
}

/// The faults of the requests of a run.
///
/// - `faults` and `repeat`: see ``FaultList``.
/// - `random`: a seed. `count` requests have a random fault of `kinds`, at the first, the last or a random position. About
///   a quarter of the requests in between have none.
struct TransferPlan {
    private let list: FaultList<TransferFault.Kind>
    private let seed: Int?
    private let count: Int
    private let kinds: [TransferFault.Kind]

    init(_ request: Request) throws(Problem) {
        list = try FaultList(request)
        seed = try request.query("random", in: 0...Int.max)
        count = try request.query("count", in: 0...1_000_000, or: 5)
        let kinds = try request.queryList("kinds", of: TransferFault.Kind.allCases.map(\.rawValue)) {
            TransferFault.Kind(rawValue: String($0))
        }
        self.kinds = kinds.isEmpty ? [.close, .cutHead, .cut, .cutChunk, .reset, .stall, .unavailable] : kinds
    }

    /// Returns the fault of a request with this number, from 1.
    func fault(of number: Int, in run: TransferRun) -> TransferFault {
        if let fault = list[number] {
            return TransferFault(fault.kind, fault.number.map { .at($0) } ?? .unspecified)
        }
        guard let seed, run.faults < count else { return TransferFault(.none) }
        // The seed is mixed before the number is added. Otherwise, adjacent seeds would give the same sequence, shifted
        // by one.
        var mixer = SplitMix64(seed: UInt64(seed))
        var random = SplitMix64(seed: mixer.next() &+ UInt64(number))
        guard random.below(4) > 0 else { return TransferFault(.none) }
        run.faults += 1
        let positions: [TransferFault.Position] = [
            .at(0), .at(-1), .fraction(Double.random(in: 0..<1, using: &random)),
        ]
        return TransferFault(random.pick(kinds), random.pick(positions))
    }
}
