import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct ParameterNamesTests {
    private func manyParameters(_ count: Int) -> [Parameter] {
        (0..<count).map { Parameter("p\($0)", in: [.query, .header, .cookie][$0 % 3]) }
    }

    /// A linear search would take 5,000,000,000 comparisons, or several minutes.
    @Test(.timeLimit(.minutes(1))) func hundredThousandValuesAreMatched() throws {
        let count = 100_000
        let parameters = manyParameters(count)
        var operation = Operation("many", .get, "/")
        operation.parameters = parameters
        var values: [(name: String, value: JSONValue)] = []
        for index in (0..<count).reversed() {
            let name = index % 3 == 1 ? "header.P\(index)" : index % 3 == 2 ? "cookie.p\(index)" : "p\(index)"
            values.append((name, .integer(Int64(index))))
        }
        let bound = try BoundArguments(Arguments(values), of: operation, parameters) { _ in false }
        #expect(bound.values.count == count)
        let areInOrder = bound.values.enumerated().allSatisfy { index, bound in
            bound.parameter.name == "p\(index)" && bound.value == .integer(Int64(index))
        }
        #expect(areInOrder)
    }

    @Test func fewAndManyNamesAreFoundTheSame() throws {
        let parameters =
            manyParameters(9) + [
                Parameter("id", in: .path), Parameter("id", in: .query), Parameter("X-Id", in: .header),
                Parameter("x-id", in: .header), Parameter("query.id", in: .cookie),
            ]
        let (few, many) = (ParameterNames(parameters, for: 1), ParameterNames(parameters, for: 1_000_000))
        for name in ["id", "p1", "X-Id", "x-id", "x-ID", "query.id", "", "p", "nothing"] {
            #expect(few.exact(name) == many.exact(name), "\(name)")
            for place in [Parameter.Place.path, .query, .header, .cookie] {
                #expect(few.first(in: place, called: name[...]) == many.first(in: place, called: name[...]), "\(name)")
            }
        }
        #expect(many.exact("id") == [9, 10])
        #expect(many.first(in: .header, called: "x-ID") == 11)
        #expect(many.first(in: .query, called: "x-ID") == nil)
    }
}
