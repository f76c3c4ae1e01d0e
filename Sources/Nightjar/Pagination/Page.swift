import NIOCore
import NightjarHTTP

/// One page of a list: the answer, and where in its content the items are. Immutable: any thread may read it.
public final class Page: Sendable {
    /// The answer that it came in.
    public let response: Response
    let walked: WalkedPage

    init(_ response: Response, _ walked: WalkedPage) {
        self.response = response
        self.walked = walked
    }

    /// Counts from 1; pages that had no items count too.
    public var number: Int { walked.number }
    /// Items on this page, without those that were given before.
    public var count: Int { walked.items.count }
    /// Where in the bytes of the answer's content the items are.
    public var items: [Range<Int>] { walked.items }
    /// The place of each item in the answer's array.
    public var keptIndices: [Int] { walked.indices }

    /// An item as the server wrote it: JSON. Empty beyond the last.
    public func text(_ index: Int) -> ByteBuffer {
        guard walked.items.indices.contains(index) else { return ByteBuffer() }
        let range = walked.items[index]
        let body = response.body
        return body.getSlice(at: body.readerIndex + range.lowerBound, length: range.count) ?? ByteBuffer()
    }

    /// - Throws: `invalid_argument` beyond the last item.
    public func json(_ index: Int) throws(NightjarError) -> JSONValue {
        guard walked.items.indices.contains(index) else {
            throw NightjarError(.invalidArgument, "the page has \(count) items, and none at \(index)")
        }
        return try text(index).withUnsafeReadableBytes { bytes in
            Result { () throws(NightjarError) in try JSONValue(parsing: bytes) }
        }.get()
    }

    /// An item as a type.
    ///
    /// - Throws: `decoding` with the path within the item, what was expected and what was found.
    public func decode<Item: Decodable>(
        _ type: Item.Type, _ index: Int, _ options: JSONDecodingOptions = .init()
    ) throws(NightjarError) -> Item {
        try json(index).decode(type, at: JSONPointer(), options)
    }

    /// The position behind the first `consumed` items, for a ``Pager`` of another run; all of them: behind the page.
    ///
    /// Within a page it is a count of places: the page is loaded again, and so many elements of it are passed over. Where
    /// the server's page has changed meanwhile, an item deleted in front of the place shifts what is given: as many as
    /// were deleted are missed, and as many as were inserted come again. A state at the page's end does not have this.
    public func state(consumed: Int) -> String { walked.state(consumed: consumed) }
}
