/// Resolves the caller's names of parameters: `id`, or `query.id` if several parameters have that name.
struct ParameterNames {
    private struct Placed: Hashable {
        var place: Parameter.Place
        /// The name. Header field names are in lower case, because they are case-insensitive.
        var name: ExactText
    }

    private let parameters: [Parameter]
    /// Indices in `parameters`, in order. Empty if a linear search of `parameters` is cheaper.
    private var byName = ExactDictionary<[Int]>()
    private var byPlace: [Placed: Int] = [:]

    /// - Parameter count: the number of names to be resolved.
    init(_ parameters: [Parameter], for count: Int) {
        self.parameters = parameters
        guard count.multipliedReportingOverflow(by: parameters.count).partialValue > ParameterNames.fewComparisons
        else {
            return
        }
        for (index, parameter) in parameters.enumerated() {
            byName[parameter.name, default: []].append(index)
            let placed = ParameterNames.placed(parameter.place, parameter.name[...])
            if byPlace[placed] == nil { byPlace[placed] = index }
        }
    }

    /// Returns the indices of the parameters with exactly this name.
    func exact(_ name: String) -> [Int] {
        guard byName.isEmpty else { return byName[name] ?? [] }
        return parameters.indices.filter { parameters[$0].name.isExactly(name) }
    }

    /// Returns the index of the first parameter in this place with this name.
    func first(in place: Parameter.Place, called name: Substring) -> Int? {
        guard byPlace.isEmpty else { return byPlace[ParameterNames.placed(place, name)] }
        return parameters.firstIndex { $0.place == place && $0.isCalled(name) }
    }

    private static func placed(_ place: Parameter.Place, _ name: Substring) -> Placed {
        guard place == .header else { return Placed(place: place, name: ExactText(String(name))) }
        return Placed(place: place, name: ExactText(String(decoding: name.utf8.map(ASCII.lowercase), as: UTF8.self)))
    }

    /// The number of comparisons up to which a linear search is cheaper than building the tables.
    private static let fewComparisons = 128
}

extension Parameter {
    fileprivate func isCalled(_ other: Substring) -> Bool {
        place == .header
            ? name.utf8.elementsEqual(other.utf8) { ASCII.lowercase($0) == ASCII.lowercase($1) }
            : name.utf8.elementsEqual(other.utf8)
    }
}
