/// The named texts of a request: its query items, or the values of the variables of its target.
///
///     request.query = ["per_page": 20, "q": term, "draft": nil, "tag": ["swift", "http"]]
///     request.query.append((name: "page", value: "2"))
///
/// In a dictionary literal, the values are ``ParameterValue``s: nil and ``JSONValue/null`` omit the item, an array
/// becomes one item for each of its elements, and an object is written as JSON. The order is kept, and a name may repeat.
public struct RequestItems: Sendable {
    /// All items.
    package var all: [(name: String, value: String)]

    public init() { all = [] }

    public init(_ items: some Sequence<(name: String, value: String)>) { all = Array(items) }

    /// Appends an item, or one for each element of an array. Nil appends nothing.
    public mutating func append(_ name: String, _ value: (any ParameterValue)?) {
        guard let value = value?.parameterValue else { return }
        let elements = if case .array(let elements) = value { elements } else { [value] }
        for element in elements where element != .null {
            // A number that is infinite or NaN has no JSON text.
            all.append((name, (try? element.parameterText()) ?? element.description))
        }
    }

    /// The value of the first item of this name. Setting it replaces all items of the name, and nil removes them.
    public subscript(_ name: String) -> (any ParameterValue)? {
        get { all.first { $0.name.isExactly(name) }?.value }
        set {
            all.removeAll { $0.name.isExactly(name) }
            append(name, newValue)
        }
    }
}

extension RequestItems: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { all.count }

    public subscript(position: Int) -> (name: String, value: String) {
        get { all[position] }
        set { all[position] = newValue }
    }

    public mutating func replaceSubrange(
        _ range: Range<Int>, with items: some Collection<(name: String, value: String)>
    ) { all.replaceSubrange(range, with: items) }
}

extension RequestItems: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    public init(dictionaryLiteral elements: (String, (any ParameterValue)?)...) {
        self.init()
        for (name, value) in elements { append(name, value) }
    }

    public init(arrayLiteral elements: (name: String, value: String)...) { all = elements }
}
