import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// A traversal of a list and the responses of its server, one event at a time.
final class Conversation {
    struct Reply {
        var body: String
        var headers: [(String, String)] = []
    }

    var traversal: PageTraversal
    /// The requested targets, without scheme and host.
    var requested: [String] = []
    var targets: [PageTarget] = []
    /// The items of each returned page.
    var pages: [[String]] = []
    var delivered: [LoadedPage] = []
    var error: NightjarError?
    var hasEnded = false
    private var bodies: [Int: String] = [:]

    init(
        _ options: Pagination, _ first: String = "https://api.example/list", resuming state: String? = nil
    ) throws(NightjarError) {
        traversal = try PageTraversal(options, first: RequestURL(first), resuming: state)
    }

    /// Reads pages until the end, an error, or `count` pages.
    @discardableResult
    func read(_ count: Int = .max, from server: (PageTarget) -> Reply) -> Conversation {
        let wanted = count == .max ? Int.max : pages.count + count
        while pages.count < wanted, !hasEnded, error == nil { perform(traversal.needsPage(), server) }
        return self
    }

    /// Reads pages until the end or an error. Each load receives the next body of `responses`.
    @discardableResult
    func read(_ responses: [String]) -> Conversation {
        var rest = responses[...]
        return read(from: { _ in Reply(body: rest.popFirst() ?? "{}") })
    }

    func perform(_ actions: [PageTraversal.Action], _ server: (PageTarget) -> Reply) {
        var rest = actions
        while !rest.isEmpty {
            switch rest.removeFirst() {
            case .load(let target):
                requested.append(target.url.target)
                targets.append(target)
                let response = server(target)
                var headers = Headers()
                for (name, value) in response.headers { try? headers.add(name, value) }
                let body = ByteBuffer(string: response.body)
                rest += traversal.received(headers, body: body, at: target.url)
                lastBody = response.body
                bodies[requested.count] = response.body
            case .cancelLoad: break
            case .deliver(let page):
                delivered.append(page)
                pages.append(page.items.map { item(at: $0, of: page) })
            case .end: hasEnded = true
            case .fail(let failure): error = failure
            }
        }
    }

    private var lastBody = ""

    private func item(at range: Range<Int>, of page: LoadedPage) -> String {
        // A page has the number of its load unless a load failed or the list was resumed. If the number has no body,
        // use the last body.
        let body = bodies[page.number] ?? lastBody
        return String(decoding: Array(body.utf8)[range], as: UTF8.self)
    }

    var items: [String] { pages.flatMap { $0 } }
    var message: String { error?.message ?? "" }
}

extension Pagination {
    /// Options without prefetching.
    static func plain(_ style: Style, _ change: (inout Pagination) throws -> Void = { _ in }) rethrows -> Pagination {
        var options = Pagination(style)
        options.prefetch = 0
        try change(&options)
        return options
    }
}

/// Returns a JSON array, such as `[1,2,3]`.
func list(_ numbers: some Sequence<Int>) -> String { "[" + numbers.map(String.init).joined(separator: ",") + "]" }
