internal import CCurl
internal import Engine

/// Which directions of a transfer rest, and why.
struct FlowControl {
    /// Not receiving, by a verdict or by `Attempt.pause()`.
    private(set) var isPaused = false
    /// Not receiving for the rest of this turn of the loop, so that others get theirs.
    private var isYielding = false
    /// libcurl has been told to rest from receiving, and holds what it has read.
    private var isReceiverResting = false
    /// The same for a body that is not pulled, and so has no other way to rest than `pause()`.
    private var isSenderResting = false

    /// Whether the observer may be handed bytes.
    var mayDeliver: Bool { !isPaused && !isYielding }

    // MARK: From outside of libcurl

    mutating func pause() { isPaused = true }

    /// libcurl is told that both directions rest.
    mutating func restBothWays() {
        isReceiverResting = true
        isSenderResting = true
    }

    mutating func resume() {
        isPaused = false
        isSenderResting = false
    }

    /// The next turn of the loop has come.
    mutating func beginTurn() { isYielding = false }

    /// What libcurl is to be told of both directions at once; `senderRests` is about a body that is
    /// pulled.
    mutating func pauseBits(senderRests: Bool?) -> CInt {
        isReceiverResting = isReceiverResting && !mayDeliver
        var bits: CInt = 0
        if isReceiverResting { bits |= CURLPAUSE_RECV }
        if senderRests ?? isSenderResting { bits |= CURLPAUSE_SEND }
        return bits
    }

    // MARK: From inside libcurl

    /// libcurl holds what it has, and stops reading.
    mutating func rest() -> FlowVerdict {
        isReceiverResting = true
        return .pause
    }

    /// The share of this turn is used up.
    mutating func yield() -> FlowVerdict {
        isYielding = true
        return rest()
    }

    /// The observer has not taken all that it was handed.
    mutating func pauseByVerdict() {
        isPaused = true
        isReceiverResting = true
    }
}
