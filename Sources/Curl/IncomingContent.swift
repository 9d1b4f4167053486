internal import Decoding
internal import Engine
internal import Loop
internal import Semantics

/// A content on its way to the observer: how much of what libcurl delivers again was taken already,
/// and the decoder of one that is coded (S-76).
///
/// libcurl's own decoder is not asked: it takes a coded content that breaks off for a whole one
/// (measured, 7.88.1). While something decoded is not delivered, libcurl is told to rest, and so
/// holds the end of the transfer back, too.
struct IncomingContent {
    /// Nil where the content is delivered as it comes.
    private(set) var decoder: ContentDecoder?
    /// How many of the bytes that libcurl delivers next were taken already.
    private var takenAhead = 0

    /// The observer has taken the head of the content.
    mutating func begin(_ head: ResponseHead, of request: AttemptRequest) {
        guard request.decodesContent else { return }
        let layers = ContentCoding.layers(of: head.headers, status: head.status)
        decoder = layers.isEmpty ? nil : ContentDecoder(layers)
    }

    /// What is new of the bytes that libcurl delivers: after a pause these are the same again, and
    /// maybe more with them.
    func new(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes.dropFirst(takenAhead))
    }

    /// Of the bytes that libcurl has delivered, `count` new ones were taken, and libcurl is told
    /// the verdict.
    mutating func take(_ count: Int, of bytes: UnsafeRawBufferPointer, _ verdict: FlowVerdict) {
        switch verdict {
        case .proceed, .stop: takenAhead = max(0, takenAhead - bytes.count)
        case .pause, .take: takenAhead += count
        }
    }

    /// Why the content is not whole although the transfer is; nil where it is.
    var fault: DecodingFault? {
        do throws(DecodingFault) { try decoder?.finish() } catch { return error }
        return nil
    }

    /// Nothing more comes of it.
    mutating func letGo() { decoder = nil }
}

extension FlowVerdict {
    /// How many of the bytes that were handed out are taken.
    func count(of bytes: UnsafeRawBufferPointer) -> Int {
        switch self {
        case .proceed, .stop: return bytes.count
        case .pause: return 0
        case .take(let count):
            precondition((0...bytes.count).contains(count), "an observer takes what it was handed")
            return count
        }
    }
}
