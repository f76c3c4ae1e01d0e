import NightjarHTTP

/// Formats exchanges as lines of a table: method, status or error, durations in milliseconds, received bytes,
/// connection, and URL. Secrets are masked.
package struct TraceTable: Sendable {
    private let hasColors: Bool

    /// - Parameter hasColors: Whether to use terminal escape sequences.
    package init(hasColors: Bool = false) { self.hasColors = hasColors }

    /// The column headings.
    package var heading: String {
        line(
            "method", "status", ["dns", "connect", "tls", "first", "total ms"], ["bytes", "conn", "url"],
            style: TraceTable.dim)
    }

    package func line(_ exchange: CallObserver.ExchangeReport) -> String {
        let phases = exchange.phases
        let lengths = [phases.dns, phases.connect, phases.tls, phases.firstByte, phases.total]
        let statusText = exchange.error?.kind.name ?? exchange.head.map { String($0.status) } ?? "none"
        return line(
            exchange.method.name, statusText, lengths.map(TraceTable.milliseconds),
            [
                exchange.head == nil ? "-" : String(exchange.receivedBytes),
                exchange.connection == nil ? "-" : exchange.isReused ? "reused" : "new",
                (exchange.attempt > 1 ? "-> " : "") + exchange.url.redacted,
            ], style: TraceTable.style(exchange))
    }

    /// - Parameter details: The number of bytes, the connection and the URL.
    private func line(
        _ method: String, _ statusText: String, _ lengths: [String], _ details: [String], style: String
    ) -> String {
        let statusText = TraceTable.left(statusText, 15)
        var columns = [TraceTable.left(method, 7), hasColors ? "\u{1B}[\(style)m\(statusText)\u{1B}[0m" : statusText]
        columns += lengths.map { TraceTable.right($0, 8) }
        columns += [TraceTable.right(details[0], 10), TraceTable.left(details[1], 6), details[2]]
        return columns.joined(separator: " ")
    }

    private static func style(_ exchange: CallObserver.ExchangeReport) -> String {
        guard exchange.error == nil, let status = exchange.head?.status else { return red }
        return switch status {
        case ..<300: green
        case ..<400: cyan
        case ..<500: yellow
        default: red
        }
    }

    private static func milliseconds(_ length: Duration?) -> String {
        guard let length else { return "-" }
        let tenths = (length.nanosecondsClamped + 50_000) / 100_000
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }

    // Select graphic rendition, ECMA-48 section 8.3.117.
    private static let dim = "2"
    private static let red = "31"
    private static let green = "32"
    private static let yellow = "33"
    private static let cyan = "36"
}
