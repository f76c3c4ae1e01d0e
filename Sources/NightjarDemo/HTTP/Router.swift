import NIOHTTP1

/// Responds to a request after its body has been received.
typealias Handler = (Request) throws(Problem) -> Response

/// Creates the sink for a request body that is streamed.
typealias StreamHandler = (Request) throws(Problem) -> any BodySink

/// A handler for a method and a path template.
struct Route {
    enum Action {
        /// - Parameter limit: the largest body in bytes. A request with a larger body receives 413.
        case whole(limit: Int, Handler)
        case streamed(StreamHandler)
    }

    /// The path template, such as `/v1/articles/{id}`.
    let template: String
    let action: Action
}

/// Finds the route of a method and a path.
///
/// The templates form a tree of segments. A literal segment takes precedence over a `{parameter}`, without
/// backtracking.
struct Router {
    enum Match {
        case route(Route, parameters: [String: String])
        /// The path exists but not for this method.
        case methods([String], template: String)
        case nothing
    }

    private struct Node {
        var literals: [String: Int] = [:]
        var parameter: (name: String, node: Int)?
        var template = ""
        var routes: [String: Route] = [:]
    }

    /// The default limit of a buffered body, in bytes.
    static let bodyLimit = 1024 * 1024

    private static let anyMethod = "*"

    private var nodes = [Node()]

    // MARK: Registration

    mutating func on(
        _ method: HTTPMethod, _ template: String, limit: Int = Router.bodyLimit, _ handler: @escaping Handler
    ) {
        add(method.rawValue, Route(template: template, action: .whole(limit: limit, handler)))
    }

    /// Handles all methods of a template that have no other route.
    mutating func onAny(_ template: String, limit: Int = Router.bodyLimit, _ handler: @escaping Handler) {
        add(Router.anyMethod, Route(template: template, action: .whole(limit: limit, handler)))
    }

    mutating func stream(_ method: HTTPMethod, _ template: String, _ handler: @escaping StreamHandler) {
        add(method.rawValue, Route(template: template, action: .streamed(handler)))
    }

    mutating func streamAny(_ template: String, _ handler: @escaping StreamHandler) {
        add(Router.anyMethod, Route(template: template, action: .streamed(handler)))
    }

    private mutating func add(_ method: String, _ route: Route) {
        var index = 0
        for segment in route.template.split(separator: "/") {
            index = child(of: index, segment)
        }
        nodes[index].template = route.template
        nodes[index].routes[method] = route
    }

    private mutating func child(of index: Int, _ segment: Substring) -> Int {
        if segment.hasPrefix("{"), segment.hasSuffix("}") {
            if let parameter = nodes[index].parameter { return parameter.node }
            nodes.append(Node())
            nodes[index].parameter = (String(segment.dropFirst().dropLast()), nodes.count - 1)
        } else {
            if let node = nodes[index].literals[String(segment)] { return node }
            nodes.append(Node())
            nodes[index].literals[String(segment)] = nodes.count - 1
        }
        return nodes.count - 1
    }

    // MARK: Lookup

    func match(_ method: HTTPMethod, _ segments: [String]) -> Match {
        var node = nodes[0]
        var parameters: [String: String] = [:]
        for segment in segments {
            if let index = node.literals[segment] {
                node = nodes[index]
            } else if let parameter = node.parameter, !segment.isEmpty {
                parameters[parameter.name] = segment
                node = nodes[parameter.node]
            } else {
                return .nothing
            }
        }
        if let route = route(of: node, method) { return .route(route, parameters: parameters) }
        return node.routes.isEmpty ? .nothing : .methods(methods(of: node), template: node.template)
    }

    /// Returns the route of a method. HEAD uses the route of GET (RFC 9110 section 9.3.2); ``ResponseWriter`` omits the
    /// body.
    private func route(of node: Node, _ method: HTTPMethod) -> Route? {
        if let route = node.routes[method.rawValue] { return route }
        if method == .HEAD, let route = node.routes[HTTPMethod.GET.rawValue] { return route }
        return node.routes[Router.anyMethod]
    }

    private func methods(of node: Node) -> [String] {
        var methods = Set(node.routes.keys)
        if methods.contains("GET") { methods.insert("HEAD") }
        methods.insert("OPTIONS")
        return methods.sorted()
    }

    /// All methods and templates, ordered by template, for the server's index.
    var table: [(method: String, template: String)] {
        nodes.flatMap { node in node.routes.map { (method: $0.key, template: $0.value.template) } }
            .sorted { ($0.template, $0.method) < ($1.template, $1.method) }
    }
}
