import NIOCore
import NightjarAPI
import NightjarHTTP

/// One page of a list: the response, and the positions of the items in its body. Immutable: any thread may read it.
public final class Page: Sendable {
    /// The response with this page.
    public let response: Response
    let loadedPage: LoadedPage

    init(_ response: Response, _ loadedPage: LoadedPage) {
        self.response = response
        self.loadedPage = loadedPage
    }

    /// The number of the page, starting at 1. Pages without items count.
    public var number: Int { loadedPage.number }
    /// The number of items on this page, without items that were returned before.
    public var count: Int { loadedPage.items.count }
    /// The byte ranges of the items in the response body.
    public var items: [Range<Int>] { loadedPage.items }
    /// The index of each item in the response's array.
    public var uniqueIndices: [Int] { loadedPage.indices }

    /// Returns the JSON text of an item as the server sent it. Empty if `index` is out of range.
    public func text(_ index: Int) -> ByteBuffer {
        guard loadedPage.items.indices.contains(index) else { return ByteBuffer() }
        let range = loadedPage.items[index]
        let body = response.body
        return body.getSlice(at: body.readerIndex + range.lowerBound, length: range.count) ?? ByteBuffer()
    }

    /// Returns an item as a JSON value.
    ///
    /// - Throws: `invalid_argument` if `index` is out of range.
    public func json(_ index: Int) throws(NightjarError) -> JSONValue {
        guard loadedPage.items.indices.contains(index) else {
            throw NightjarError(.invalidArgument, "the page has \(count) items; the index \(index) is out of range")
        }
        return try text(index).withUnsafeReadableBytes { bytes in
            Result { () throws(NightjarError) in try JSONValue(parsing: bytes) }
        }.get()
    }

    /// Decodes an item.
    ///
    /// - Parameter options: Nil for the options of the client, ``Configuration/decoding``.
    /// - Throws: `decoding` with the path within the item, and the expected and actual values; `invalid_argument` if
    ///   `index` is out of range.
    public func decode<Item: Decodable>(
        _ type: Item.Type, _ index: Int, _ options: JSONDecodingOptions? = nil
    ) throws(NightjarError) -> Item {
        try json(index).decode(type, at: JSONPointer(), options ?? response.decoding)
    }

    /// Returns the position after the first `consumed` items, for a ``Paginator`` in a later run. After all items, this
    /// is the position at the end of the page.
    ///
    /// Within a page, the position is a number of elements: the page is loaded again and these elements are skipped. If
    /// the server has deleted n items of the page before the position, n items are missed. If the server has inserted n
    /// items there, n items are repeated. A position at the end of a page is that of the next page.
    public func state(consumed: Int) -> String { loadedPage.state(consumed: consumed) }
}
