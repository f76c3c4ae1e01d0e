import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem

/// The outcome of one call, or of other work such as a login: its response or error after it has ended. Also a response
/// or an error without a call.
///
/// Belongs to the thread that runs the Lua state.
final class Future: @unchecked Sendable {
    /// The wait of the script that a poll reports when the outcome has events; nil: none.
    var wait: OpaquePointer?
    /// The index in the engine's list while the call is in flight.
    var place = 0
    /// The task of the call; nil unless the call is in flight.
    var task: ClientTask?
    /// The number of the ended call; 0: none.
    var callID = 0
    /// The login, logout or document load in progress.
    var operation: ClientOperation?
    /// The response or error. Nil while the call is in flight or, for a streamed response, until its head arrives. Also
    /// nil after the success of work without a response, such as a login.
    var result: Result<Response, NightjarError>?
    /// Whether the outcome belongs to work in progress that has no task or operation, such as a revalidation.
    var isPending = false
    /// The result of the background revalidation that the call started. Nil until the call and the revalidation have
    /// ended; `.some(nil)` if there was no revalidation.
    var refreshed: Result<Response, NightjarError>?? = .some(nil)
    /// The outcomes that wait for the result of the revalidation.
    var refreshListeners: [Future] = []
    /// The redirect that awaits the script's decision.
    var proposed: ProposedRedirect?
    /// The failed attempt that awaits the script's decision.
    var retry: TaskHandlers.FailedAttempt?
    /// Progress that has not been reported to the script.
    private var progress: TaskHandlers.Progress?
    /// The reason for which the call waits for the network, if it has not been reported to the script.
    private var waiting: OfflineReason?
    /// The instructions for the user of an interactive login.
    private var prompt: LoginPrompt?
    private var hasPrompt = false
    /// The part of the request that a sandboxed script sees; nil: the script is not sandboxed or did not make the
    /// request.
    var view: View?
    /// The memory reserved for the call.
    var reservation: MemoryReservation?
    /// Cancels the work of an outcome without a task.
    var abandon: (() -> Void)?
    /// The result of blocking work.
    var value: WorkValue?
    /// The result of a document load.
    var catalog: Catalog?
    /// The streamed response body.
    var incoming: IncomingBody?
    /// The request body that the script produces.
    var outgoingBody: OutgoingBody?
    /// The outcomes that end when the next part of the request body is needed, and when none will be needed.
    var bodyWaiters: (needed: Future?, sent: Future?)
    /// The texts that C borrows, by field, with a NUL at the end.
    private var texts: [(field: UInt32, bytes: UnsafeMutableBufferPointer<CChar>)] = []

    /// The URLs of redirects that C borrows.
    private var redirectURLs: [UnsafeMutableBufferPointer<CChar>] = []

    init(wait: OpaquePointer) { self.wait = wait }

    init(_ result: Result<Response, NightjarError>) { self.result = result }

    /// Creates an ended outcome.
    ///
    /// - Parameter call: the call that ended with the result.
    init(_ result: Result<Response, NightjarError>, of call: Future?) {
        self.result = result
        view = call?.view
        callID = call?.callID ?? 0
        reservation = call?.reservation
    }

    /// The part of a request that a sandboxed script sees.
    struct View {
        /// The names of the headers that the script has set, and `content-type`, in lower case.
        let names: Set<String>

        init(_ request: borrowing Request) {
            var names: Set<String> = ["content-type"]
            for index in 0..<request.headers.count { names.insert(request.headers.name(at: index).lowercased()) }
            self.names = names
        }
    }

    /// Creates a pending outcome without a task.
    init() { isPending = true }

    deinit {
        for text in texts { text.bytes.deallocate() }
        for url in redirectURLs { url.deallocate() }
    }

    /// Whether the call or the work has ended, so that no more events arrive.
    var isEnded: Bool { task == nil && operation == nil && !isPending }

    /// Whether a decision request, a prompt or progress is waiting for the script.
    var needsCallback: Bool { proposed != nil || retry != nil || hasPrompt || progress != nil || waiting != nil }

    func note(_ progress: TaskHandlers.Progress) { self.progress = progress }

    /// Removes and returns the progress that has not been reported.
    func takeProgress() -> TaskHandlers.Progress? { progress.take() }

    func note(waiting reason: OfflineReason) { waiting = reason }

    func takeWaiting() -> OfflineReason? { waiting.take() }

    func requestDecision(_ proposed: ProposedRedirect) {
        self.proposed = proposed
        forget([NJL_REDIRECT_URL, NJL_REDIRECT_SOURCE_URL, NJL_REDIRECT_METHOD])
    }

    func show(_ prompt: LoginPrompt) {
        (self.prompt, hasPrompt) = (prompt, true)
        forget([NJL_PROMPT_URL, NJL_PROMPT_CODE, NJL_PROMPT_PAGE, NJL_PROMPT_COMPLETE_PAGE])
    }

    /// Ends the outcome of an operation without a response.
    func endOperation(_ end: Result<Void, NightjarError>) {
        hasPrompt = false
        if case .failure(let error) = end { result = .failure(error) }
    }

    /// Returns whether the login has a new prompt, and marks the prompt as taken.
    func takePrompt() -> Bool {
        defer { hasPrompt = false }
        return hasPrompt
    }

    /// Discards cached texts whose values have changed.
    private func forget(_ fields: [njl_field]) {
        guard !texts.isEmpty else { return }
        let fields = fields.map(\.rawValue)
        for text in texts where fields.contains(text.field) { text.bytes.deallocate() }
        texts.removeAll { fields.contains($0.field) }
    }

    /// Whether parts of the request body may be needed later. An attempt that follows sends the body again.
    var sendsBody: Bool {
        guard let outgoingBody, outgoingBody.failure == nil else { return false }
        return !outgoingBody.isEnded || result == nil
    }

    /// Stores the head of a streamed response.
    func arrived(_ head: Response) { result = .success(head) }

    /// Ends the call. If the script has received the head of a streamed response, an error is reported to the reader of
    /// its body.
    func finish(_ end: Result<Response, NightjarError>) {
        outgoingBody = nil
        (proposed, retry) = (nil, nil)
        forget([NJL_DECISIONS, NJL_DECISIONS_OF_SANDBOX])
        if case .failure(let error) = end, response != nil {
            incoming?.end(error)
        } else {
            result = end
            incoming?.end(nil)
        }
    }

    var response: Response? {
        if case .success(let response) = result { response } else { nil }
    }

    var error: NightjarError? {
        if case .failure(let error) = result { error } else { nil }
    }

    /// The response headers that a sandboxed script sees: all except those that carry credentials.
    private(set) lazy var publicHeaders: Headers? = response.map { Future.withoutCredentials($0.headers) }

    /// The trailers that a sandboxed script sees.
    private(set) lazy var publicTrailers: Headers? = response.map { Future.withoutCredentials($0.trailers) }

    /// Returns the fields that a sandboxed script sees.
    static func withoutCredentials(_ fields: Headers) -> Headers {
        var shown = Headers()
        let headers = fields.withoutCredentials
        for index in 0..<headers.count {
            let name = headers.name(at: index).lowercased()
            if name == "set-cookie" || name == "set-cookie2" { continue }
            headers.withBytes(at: index) { shown.append(name: $0, value: $1) }
        }
        return shown
    }

    /// Returns the text of a field without its NUL; nil if the outcome does not have the field.
    func text(_ field: njl_field) -> UnsafeBufferPointer<CChar>? {
        let known = texts.first { $0.field == field.rawValue }?.bytes
        guard let bytes = known ?? makeText(field) else { return nil }
        return UnsafeBufferPointer(rebasing: bytes.dropLast())
    }

    /// Returns the status of a redirect, and its URL without the NUL.
    func redirect(at index: Int) -> (status: Int, url: UnsafeBufferPointer<CChar>)? {
        guard let redirects = response?.redirects, redirects.indices.contains(index) else { return nil }
        while redirectURLs.count <= index {
            redirectURLs.append(Future.copy(redirects[redirectURLs.count].url.redacted))
        }
        return (redirects[index].status, UnsafeBufferPointer(rebasing: redirectURLs[index].dropLast()))
    }

    private func makeText(_ field: njl_field) -> UnsafeMutableBufferPointer<CChar>? {
        guard let text = describe(field) else { return nil }
        let bytes = Future.copy(text)
        texts.append((field.rawValue, bytes))
        return bytes
    }

    private static func copy(_ text: String) -> UnsafeMutableBufferPointer<CChar> {
        var text = text
        return text.withUTF8 { source in
            let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: source.count + 1)
            for (index, byte) in source.enumerated() { copy.initializeElement(at: index, to: CChar(bitPattern: byte)) }
            copy.initializeElement(at: source.count, to: 0)
            return copy
        }
    }

    private func describe(_ field: njl_field) -> String? {
        switch field {
        case NJL_URL: response?.url ?? error?.url
        case NJL_SOURCE: response?.source.name
        case NJL_TEXT: response?.text
        case NJL_CURL: curl(showsSecrets: false)
        case NJL_CURL_WITH_SECRETS: curl(showsSecrets: true)
        case NJL_CURL_OF_SANDBOX: curlOfSandbox
        case NJL_REDIRECT_URL:
            proposed.map { view == nil ? $0.url.origin.description + $0.url.target : $0.url.redacted }
        case NJL_REDIRECT_SOURCE_URL:
            proposed.map { view == nil ? $0.from.origin.description + $0.from.target : $0.from.redacted }
        case NJL_REDIRECT_METHOD: proposed?.method.name
        case NJL_OFFLINE_REASON: error?.offlineReason?.rawValue
        case NJL_PEER: response?.timing.connection?.peer
        case NJL_TLS: (response?.tls ?? error?.tls)?.jsonText
        case NJL_CONNECTION_SUMMARY: response?.timing.connectionSummary
        case NJL_DECISIONS: Future.json(decisions)
        case NJL_DECISIONS_OF_SANDBOX: Future.json(decisions.filter(Future.isVisibleInSandbox))
        case NJL_IDEMPOTENCY_KEY: (response?.request ?? error?.request)?.headers[IdempotencyKey.fieldName]
        case NJL_PROMPT_URL: prompt.flatMap { if case .browser(let url) = $0 { url } else { nil } }
        case NJL_PROMPT_CODE: prompt.flatMap { if case .device(let code, _, _) = $0 { code } else { nil } }
        case NJL_PROMPT_PAGE: prompt.flatMap { if case .device(_, let page, _) = $0 { page } else { nil } }
        case NJL_PROMPT_COMPLETE_PAGE: prompt.flatMap { if case .device(_, _, let page) = $0 { page } else { nil } }
        case NJL_KIND: error?.kind.name
        case NJL_PHASE: error?.phase?.name
        case NJL_MESSAGE: error?.message
        case NJL_USER_MESSAGE: error?.userMessage
        case NJL_DETAILS: error?.details.flatMap(Future.json)
        case NJL_SENTENCE: error.map(Future.sentence)
        default: nil
        }
    }

    private func curl(showsSecrets: Bool) -> String? {
        response?.curl(showsSecrets: showsSecrets) ?? error?.curl(showsSecrets: showsSecrets)
    }

    /// The curl command that a sandboxed script sees: without the headers that the script has not set.
    private var curlOfSandbox: String? {
        guard var request = response?.request ?? error?.request else { return nil }
        let names = view?.names ?? []
        var headers = Headers()
        for index in 0..<request.headers.count where names.contains(request.headers.name(at: index).lowercased()) {
            request.headers.withBytes(at: index) { headers.append(name: $0, value: $1) }
        }
        request.headers = headers
        return CurlCommand(request, showsSecrets: false).text
    }

    private var decisions: [Decision] { response?.decisions ?? error?.decisions ?? [] }

    /// A sandboxed script does not see addresses that the host's client denies.
    private static func isVisibleInSandbox(_ decision: Decision) -> Bool {
        if case .addressesDenied = decision.what { false } else { true }
    }

    private static func json(_ decisions: [Decision]) -> String? {
        (try? JSONValue.array(decisions.map(\.json)).encoded()).map { String(buffer: $0) }
    }

    private static func json(_ details: ErrorBody) -> String? {
        func member(_ name: String, _ text: String?) -> [JSONValue.Member] {
            text.map { [.init(name, .string($0))] } ?? []
        }
        let fields = details.fields.map { JSONValue.object(member("name", $0.name) + member("message", $0.message)) }
        let members =
            member("title", details.title) + member("message", details.message) + member("detail", details.detail)
            + member("code", details.code) + member("type", details.type)
            + [.init("fields", .array(fields))]
        return (try? JSONValue.object(members).encoded()).map { String(buffer: $0) }
    }

    private static func sentence(_ error: NightjarError) -> String {
        error.url.map { "\(error.message) (\($0))" } ?? error.message
    }
}
