internal import Decoding
internal import Engine
internal import Semantics

/// Why a callback has ended the transfer, where libcurl itself would have gone on.
enum StopReason {
    /// The observer wants nothing more.
    case enough
    /// The connection is there, and nothing else was wanted.
    case connected
    /// The connection that libcurl has chosen does not serve: the attempt begins anew on another
    /// one.
    case unsuitable
    /// The connection was lost, and the request may not be sent again.
    case lost
    /// The answer is not valid; one sentence.
    case malformed(String)
    /// A coding of the content cannot be taken off.
    case undecodable(DecodingFault)

    /// Whether the observer has ended it.
    var isEnough: Bool {
        if case .enough = self { true } else { false }
    }

    /// Whether the attempt begins anew.
    var isUnsuitable: Bool {
        if case .unsuitable = self { true } else { false }
    }

    /// What the attempt ends with; nil where it has what it wanted.
    func error(at url: String) -> TransferError? {
        switch self {
        case .enough, .connected: nil
        case .unsuitable, .lost: .unanswered.at(url)
        case .malformed(let sentence): .badServerResponse(sentence).at(url)
        case .undecodable(let fault): fault.error(at: url)
        }
    }
}

extension DecodingFault {
    /// The error of a content that is not whole although the transfer is.
    func error(at url: String) -> TransferError {
        .url(.cannotDecodeRawData, at: url, message: sentence)
    }
}
