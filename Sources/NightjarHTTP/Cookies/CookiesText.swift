/// Netscape's cookies.txt format, which curl, wget and browser extensions read and write. A cookie is a line of seven
/// tab-separated fields. The format has no fields for SameSite and the creation time.
///
///     #HttpOnly_.example.com  TRUE        /     TRUE    1767225600  name  value
///     domain                  subdomains  path  secure  expires     name  value
public enum CookiesText {
    /// A line that is invalid or whose cookie was rejected, and the reason.
    public struct Problem: Equatable, Sendable, CustomStringConvertible {
        /// The line number, from 1.
        public let line: Int
        /// The reason. Does not quote the line, which may contain a secret.
        public let reason: String

        public var description: String { "line \(line): \(reason)" }
    }

    /// The result of reading a file.
    public struct Report: Equatable, Sendable {
        /// The number of cookies stored.
        public internal(set) var stored = 0
        /// The number of cookies skipped because they had expired.
        public internal(set) var expired = 0
        /// The number of lines that are invalid or whose cookie was rejected.
        public internal(set) var skipped = 0
        /// The first ``maximumProblems`` of the skipped lines.
        public internal(set) var problems: [Problem] = []
    }

    /// The maximum number of ``Report/problems``. A file in another format may have any number of invalid lines.
    public static let maximumProblems = 100

    // MARK: Writing

    /// Writes `cookies` in order.
    ///
    /// - Returns: the text, and the cookies that the format cannot represent: cookies without a name or with a tab.
    public static func format(_ cookies: some Sequence<Cookie>) -> (text: String, omitted: [Cookie]) {
        var text = header
        var omitted: [Cookie] = []
        for cookie in cookies {
            let fields = [cookie.path, cookie.name, cookie.value]
            guard !cookie.name.isEmpty, !fields.contains(where: { $0.utf8.contains(tab) }) else {
                omitted.append(cookie)
                continue
            }
            if cookie.isHTTPOnly { text += httpOnly }
            if !cookie.isHostOnly { text += "." }
            text += cookie.domain
            text += cookie.isHostOnly ? "\tFALSE\t" : "\tTRUE\t"
            text += cookie.path
            text += cookie.isSecure ? "\tTRUE\t" : "\tFALSE\t"
            // Zero means a session cookie, so the time is rounded up. The conversion cannot overflow, because the time
            // is within Cookie.timeRange.
            text += String(Int64(cookie.expires.map { max($0.rounded(.up), 1) } ?? 0))
            text += "\t\(cookie.name)\t\(cookie.value)\n"
        }
        return (text, omitted)
    }

    /// Programs recognize the format by its first line.
    private static let header = """
        # Netscape HTTP Cookie File
        # https://curl.se/docs/http-cookies.html
        # Written by Nightjar. A change made here may be overwritten.


        """
    private static let httpOnly = "#HttpOnly_"
    private static let tab = UInt8(ascii: "\t")

    // MARK: Reading

    /// Adds the cookies of a file to `jar`. If two lines have the same identity, the later line is used unless its
    /// cookie has expired or is rejected.
    public static func read(_ file: UnsafeRawBufferPointer, into jar: inout CookieJar, at now: Double) -> Report {
        var report = Report()
        var number = 0
        var start = 0
        while start < file.count {
            let end = file[start...].firstIndex(of: UInt8(ascii: "\n")) ?? file.count
            var line = file[start..<end]
            if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
            start = end + 1
            number += 1
            do throws(Fault) {
                guard let cookie = try parse(line, at: now) else { continue }
                if cookie.isExpired(at: Cookie.moment(now)) {
                    report.expired += 1
                } else if try add(cookie, to: &jar, at: now) {
                    report.stored += 1
                }
            } catch {
                report.skipped += 1
                if report.problems.count < maximumProblems {
                    report.problems.append(Problem(line: number, reason: error.reason))
                }
            }
        }
        return report
    }

    /// Reads a file given as text.
    public static func read(_ file: String, into jar: inout CookieJar, at now: Double) -> Report {
        var text = file
        return text.withUTF8 { read(UnsafeRawBufferPointer($0), into: &jar, at: now) }
    }

    private struct Fault: Error {
        let reason: String
    }

    private static func add(_ cookie: Cookie, to jar: inout CookieJar, at now: Double) throws(Fault) -> Bool {
        do throws(CookieRefusal) {
            return try jar.add(cookie, at: now) == .stored
        } catch {
            throw Fault(reason: error.description)
        }
    }

    /// - Returns: nil for an empty line or a comment.
    private static func parse(_ line: Slice<UnsafeRawBufferPointer>, at now: Double) throws(Fault) -> Cookie? {
        let isHTTPOnly = line.starts(with: httpOnly.utf8)
        let line = isHTTPOnly ? line.dropFirst(httpOnly.utf8.count) : line
        guard !line.allSatisfy({ $0 == 0x20 || $0 == tab }), line.first != UInt8(ascii: "#") else { return nil }
        guard line.count <= maximumLine else { throw Fault(reason: "it is longer than \(maximumLine) bytes") }
        var fields = line.split(separator: tab, omittingEmptySubsequences: false)
        // Editors that strip trailing blanks also strip an empty value.
        if fields.count == 6 { fields.append(line[line.endIndex...]) }
        guard fields.count == 7 else { throw Fault(reason: "it has \(fields.count) tab-separated fields instead of 7") }
        guard let isForBelow = boolean(fields[1]) else { throw Fault(reason: "the second field is not TRUE or FALSE") }
        guard let isSecure = boolean(fields[3]) else { throw Fault(reason: "the fourth field is not TRUE or FALSE") }
        guard let seconds = number(fields[4]) else {
            throw Fault(reason: "the fifth field is not a number of seconds since 1970")
        }
        guard let domain = text(fields[0]), let path = text(fields[2]), let name = text(fields[5]),
            let value = text(fields[6])
        else { throw Fault(reason: CookieRefusal.notUTF8.description) }
        let latest = Cookie.moment(now) + Double(Cookie.maximumAge)
        do throws(CookieRefusal) {
            return try Cookie(
                name: name, value: value, domain: domain, isHostOnly: !isForBelow, path: path,
                expires: seconds == 0 ? nil : min(Double(seconds), latest), isSecure: isSecure, isHTTPOnly: isHTTPOnly)
        } catch {
            throw Fault(reason: error.description)
        }
    }

    /// The maximum length of a line in bytes. The line of a valid cookie is not longer.
    private static let maximumLine = Cookie.maximumPair + Cookie.maximumAttribute + 512

    private static func boolean(_ field: Slice<UnsafeRawBufferPointer>) -> Bool? {
        let bytes = UnsafeRawBufferPointer(rebasing: field)
        if ASCII.isCaseless(bytes, "true") { return true }
        return ASCII.isCaseless(bytes, "false") ? false : nil
    }

    /// Parses digits, clamped to the end of the time range. A negative number becomes 1, a time that has passed.
    private static func number(_ field: Slice<UnsafeRawBufferPointer>) -> Int64? {
        let isNegative = field.first == UInt8(ascii: "-")
        let digits = isNegative ? field.dropFirst() : field
        guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
        guard !isNegative else { return 1 }
        let latest = Int64(Cookie.timeRange.upperBound)
        return digits.reduce(0) { min($0 * 10 + Int64($1 & 0xF), latest) }
    }

    private static func text(_ field: Slice<UnsafeRawBufferPointer>) -> String? {
        String(validating: field, as: UTF8.self)
    }
}
