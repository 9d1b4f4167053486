/// The cookies of a file in Netscape's format, which curl, wget and browser extensions read and
/// write.
///
/// A line has seven columns with tabs between: domain, whether hosts below it are meant (`TRUE`,
/// `FALSE`), path, whether it is for https only, the end in seconds since 1970 (0: with the
/// session), name, value. `#HttpOnly_` before the domain marks what is kept from scripts; other
/// lines with `#` are comments. Times of creation and `SameSite` have no column.
/// <https://curl.se/docs/http-cookies.html>
public struct NetscapeCookieFile: Equatable, Sendable {
    /// The lines that were understood, in their order.
    public var entries: [Entry] = []
    /// The lines that were not.
    public var faults: [Fault] = []

    /// A line with a cookie. Only the line's form was checked: the rest is for `CookieJar.store`.
    public struct Entry: Equatable, Sendable {
        /// From 1.
        public var line: Int
        /// Created when the file was read.
        public var cookie: Cookie
    }

    /// A line that brings no cookie, and why.
    public struct Fault: Equatable, Sendable {
        /// From 1.
        public var line: Int
        /// What is wrong.
        public var reason: Reason

        /// The fault for people.
        public var sentence: String { "Line \(line): \(reason.sentence)" }
    }

    /// What is wrong with a line.
    public enum Reason: Hashable, Sendable {
        /// Fewer than seven columns; the last may be missing with its tab.
        case columns(Int)
        /// The second or fourth column (counted from 1) is neither `TRUE` nor `FALSE`.
        case flag(column: Int)
        /// The fifth column is no number of seconds.
        case expiry
        /// The cookie is not allowed.
        case cookie(CookieRejection)

        /// The reason for people.
        public var sentence: String {
            switch self {
            case .columns(1): "There is no tab: a cookie has 7 columns with tabs between."
            case .columns(let count): "There are \(count) columns, not 7 with tabs between."
            case .flag(let column): "Column \(column) is neither TRUE nor FALSE."
            case .expiry: "Column 5 is no number of seconds since 1970."
            case .cookie(let rejection): rejection.sentence
            }
        }
    }

    /// Reads a file, and goes on behind the lines that it does not understand.
    ///
    /// Tolerated: ends of lines with CR, a byte order mark, a dot before any domain, flags in any
    /// case, fractions of seconds, a value with tabs in it, and no seventh column for no value. Now
    /// becomes the time of creation. Of a part of a file `firstLine` is the number of the part's
    /// first line.
    public init(parsing text: some StringProtocol, at now: Timestamp, firstLine: Int = 1) {
        var bytes = Substring(text).utf8[...]
        if firstLine == 1, bytes.starts(with: [0xef, 0xbb, 0xbf]) { bytes = bytes.dropFirst(3) }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, bytes) in lines.enumerated() {
            var line = Substring(bytes)
            if line.utf8.last == UInt8(ascii: "\r") { line = Substring(line.utf8.dropLast()) }
            do throws(Reason) {
                guard let cookie = try Self.cookie(line, at: now) else { continue }
                entries.append(Entry(line: firstLine + index, cookie: cookie))
            } catch {
                faults.append(Fault(line: firstLine + index, reason: error))
            }
        }
    }

    /// Nil for a line without a cookie.
    private static func cookie(
        _ text: Substring, at now: Timestamp
    ) throws(Reason) -> Cookie? {
        var line = text
        let isHTTPOnly = line.utf8.starts(with: httpOnlyMark.utf8)
        if isHTTPOnly {
            line = Substring(line.utf8.dropFirst(httpOnlyMark.utf8.count))
        } else if line.utf8.first == UInt8(ascii: "#") {
            return nil
        }
        guard !line.trimmingFieldSpace.isEmpty else { return nil }
        let columns = line.utf8.split(
            separator: 0x09, maxSplits: 6, omittingEmptySubsequences: false
        ).map { Substring($0) }
        guard columns.count >= 6 else { throw .columns(columns.count) }
        let isDotted = columns[0].utf8.first == UInt8(ascii: ".")
        let domain = Substring(columns[0].utf8.dropFirst(isDotted ? 1 : 0))
        return Cookie(
            name: String(columns[5].trimmingFieldSpace),
            value: columns.count > 6 ? String(columns[6].trimmingFieldSpace) : "",
            domain: CookieHost(String(domain)).name, path: String(columns[2]),
            expires: try expiry(columns[4]), isSecure: try flag(columns[3], column: 4),
            isHTTPOnly: isHTTPOnly, isHostOnly: !(try flag(columns[1], column: 2)),
            creationTime: now)
    }

    private static func flag(_ text: Substring, column: Int) throws(Reason) -> Bool {
        if text.equalsIgnoringCase("TRUE") { return true }
        if text.equalsIgnoringCase("FALSE") { return false }
        throw .flag(column: column)
    }

    /// Nil for 0. What does not fit is later than any cookie lives.
    private static func expiry(_ text: Substring) throws(Reason) -> Timestamp? {
        let parts = text.utf8.split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false
        ).map { Substring($0) }
        guard parts.allSatisfy(FieldSyntax.isDigits) else { throw .expiry }
        let seconds = Int64(parts[0]) ?? .max
        if seconds == 0 { return nil }
        let (milliseconds, isTooLarge) = seconds.multipliedReportingOverflow(by: 1000)
        return Timestamp(milliseconds: isTooLarge ? .max : milliseconds)
    }

    static let httpOnlyMark = "#HttpOnly_"
}

extension NetscapeCookieFile.Reason: Error {}

extension NetscapeCookieFile {
    /// Writes cookies as a file; reading it gives them back but for what the format has no column
    /// for.
    ///
    /// The end is cut to whole seconds.
    ///
    /// - Returns: the text, and the cookies that it cannot say: those with a tab in name or path.
    public static func text(of cookies: some Sequence<Cookie>) -> (text: String, omitted: [Cookie])
    {
        var text = "# Netscape HTTP Cookie File\n"
        var omitted: [Cookie] = []
        for cookie in cookies {
            guard !cookie.name.utf8.contains(0x09), !cookie.path.utf8.contains(0x09) else {
                omitted.append(cookie)
                continue
            }
            text += line(for: cookie) + "\n"
        }
        return (text, omitted)
    }

    private static func line(for cookie: Cookie) -> String {
        // 0 would be a cookie of the session; what ended in 1970 has ended in its first second,
        // too.
        let seconds = cookie.expires.map { max(1, $0.milliseconds / 1000) } ?? 0
        let domain = cookie.isHostOnly ? cookie.domain : "." + cookie.domain
        let columns = [
            domain, cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path,
            cookie.isSecure ? "TRUE" : "FALSE", String(seconds), cookie.name, cookie.value,
        ]
        return (cookie.isHTTPOnly ? httpOnlyMark : "") + columns.joined(separator: "\t")
    }
}
