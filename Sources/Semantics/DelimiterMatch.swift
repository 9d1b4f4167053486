internal import Syntax

/// How far bytes of a multipart body are the line that divides two parts (RFC 2046 §5.1.1): a line
/// break, two hyphens and the boundary, which are the *dash-boundary* here, perhaps blanks, a line
/// break; two more hyphens end the whole.
///
/// Only a whole line counts, so that a part may hold a multipart body whose boundary begins with
/// this one. A line break may be a bare LF.
struct DelimiterMatch: Equatable, Sendable {
    /// What a byte has made of it.
    enum Verdict: Equatable, Sendable {
        /// It may become a delimiter.
        case more
        /// The byte does not fit. It may begin another delimiter; no byte before it can.
        case fails
        /// With this byte a part begins.
        case begins
        /// With this byte the last part has ended.
        case closes
    }

    private enum State: Equatable, Sendable {
        case start(isLineStart: Bool)
        case lineFeed
        /// The index of the next byte of the dash-boundary.
        case text(Int)
        /// Behind the dash-boundary, and so many blanks.
        case padding(Int)
        case lastLineFeed
        case secondHyphen
    }

    private var state: State

    /// The most blanks behind a boundary, so that what is held back is bounded.
    static let paddingLimit = 64

    /// Nothing has come yet; at the start of a line there need not be a line break before the
    /// hyphens.
    init(isLineStart: Bool = false) { self.state = .start(isLineStart: isLineStart) }

    /// Whether the bytes cannot be anything but a delimiter whose line has not ended.
    var hasBoundary: Bool {
        switch state {
        case .padding, .lastLineFeed, .secondHyphen: true
        case .start, .lineFeed, .text: false
        }
    }

    /// Takes one more byte; nothing may follow a verdict other than `more`.
    mutating func take(_ byte: UInt8, of dashBoundary: [UInt8]) -> Verdict {
        switch (state, byte) {
        case (.start, carriageReturn): state = .lineFeed
        case (.start, lineFeed), (.lineFeed, lineFeed): state = .text(0)
        case (.start(isLineStart: true), dashBoundary[0]): state = .text(1)
        case (.text(let index), _) where byte == dashBoundary[index]:
            state = index + 1 < dashBoundary.count ? .text(index + 1) : .padding(0)
        case (.padding, lineFeed), (.lastLineFeed, lineFeed): return .begins
        case (.padding, carriageReturn): state = .lastLineFeed
        case (.padding(0), hyphen): state = .secondHyphen
        case (.padding(let count), _) where Octets.isWhitespace(byte) && count < Self.paddingLimit:
            state = .padding(count + 1)
        case (.secondHyphen, hyphen): return .closes
        default: return .fails
        }
        return .more
    }
}

private let carriageReturn = UInt8(ascii: "\r")
private let lineFeed = UInt8(ascii: "\n")
private let hyphen = UInt8(ascii: "-")
