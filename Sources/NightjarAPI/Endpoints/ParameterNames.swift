/// Which parameter a caller's name is of: `id`, or `query.id` where others have that name too. However many there are, a name is
/// found in one step.
struct ParameterNames {
    private struct Placed: Hashable {
        var place: Parameter.Place
        /// Of header fields in small letters: those have no case.
        var name: ExactText
    }

    private let parameters: [Parameter]
    /// Places in `parameters`, in their order; empty: they are few and looked through.
    private var byName = ExactDictionary<[Int]>()
    private var byPlace: [Placed: Int] = [:]

    /// - Parameter count: names that are to be found.
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

    /// Those of this very name.
    func exact(_ name: String) -> [Int] {
        guard byName.isEmpty else { return byName[name] ?? [] }
        return parameters.indices.filter { parameters[$0].name.isExactly(name) }
    }

    /// The first of a place and this name.
    func first(in place: Parameter.Place, called name: Substring) -> Int? {
        guard byPlace.isEmpty else { return byPlace[ParameterNames.placed(place, name)] }
        return parameters.firstIndex { $0.place == place && $0.isCalled(name) }
    }

    private static func placed(_ place: Parameter.Place, _ name: Substring) -> Placed {
        guard place == .header else { return Placed(place: place, name: ExactText(String(name))) }
        return Placed(place: place, name: ExactText(String(decoding: name.utf8.map(ASCII.lowercase), as: UTF8.self)))
    }

    /// Up to so many comparisons cost less than the tables.
    private static let fewComparisons = 128
}

extension Parameter {
    fileprivate func isCalled(_ other: Substring) -> Bool {
        place == .header
            ? name.utf8.elementsEqual(other.utf8) { ASCII.lowercase($0) == ASCII.lowercase($1) }
            : name.utf8.elementsEqual(other.utf8)
    }
}
