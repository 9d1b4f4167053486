internal import Decoding
internal import Engine
internal import Loop
internal import Semantics

/// How a content loses its codings on the way to the observer (S-76).
///
/// libcurl's own decoder is not asked: it takes a coded content that breaks off for a whole one
/// (measured, 7.88.1). While something decoded is not delivered, libcurl is told to rest, and so
/// holds the end of the transfer back, too.
extension CurlAttempt {
    /// A content that is decoded.
    @LoopActor
    final class CodedContent {
        fileprivate let decoder: ContentDecoder
        fileprivate(set) var fault: DecodingFault?

        /// Nil where the content is delivered as it comes.
        init?(_ head: ResponseHead, of request: AttemptRequest) {
            let layers = ContentCoding.layers(of: head.headers, status: head.status)
            guard request.decodesContent, !layers.isEmpty else { return nil }
            decoder = ContentDecoder(layers)
        }
    }

    /// Delivers what has come as it is.
    ///
    /// - Parameters:
    ///   - bytes: what the observer has not taken yet.
    ///   - observer: who is told.
    ///   - count: how much of it is taken when this returns.
    /// - Returns: what libcurl is told.
    func deliver(
        _ bytes: UnsafeRawBufferPointer, to observer: any AttemptObserver, _ count: inout Int
    ) -> FlowVerdict {
        guard !bytes.isEmpty else { return .proceed }
        guard share.admits(self) else {
            isYielding = true
            return rest()
        }
        let verdict = obey(observer.attemptDidReceive(bytes))
        count = verdict.count(of: bytes)
        share.spend(count)
        return verdict
    }

    /// Decodes what has come, and delivers it.
    ///
    /// - Parameters:
    ///   - coded: what the decoder has not seen yet; maybe nothing, where only its output was left.
    ///   - content: whose decoder takes it.
    ///   - count: how much of it is decoded when this returns.
    /// - Returns: what libcurl is told.
    func deliver(
        _ coded: UnsafeRawBufferPointer, of content: CodedContent, _ count: inout Int
    ) -> FlowVerdict {
        let decoder = content.decoder
        var left = coded
        defer { count = coded.count - left.count }
        // Much of a content may come before the first byte of it can be decoded.
        if !coded.isEmpty { observer?.attemptDidMove() }
        do throws(DecodingFault) {
            while try step(decoder, &left) {
                guard let observer else { return .stop }
                let piece = decoder.piece
                guard !piece.isEmpty else { continue }
                let verdict = obey(observer.attemptDidReceive(piece))
                decoder.take(verdict.count(of: piece))
                guard verdict == .proceed else { return verdict }
            }
        } catch {
            content.fault = error
            return .stop
        }
        return isYielding ? rest() : .proceed
    }

    /// - Returns: whether there may be something to deliver, and more to decode.
    private func step(
        _ decoder: ContentDecoder, _ left: inout UnsafeRawBufferPointer
    ) throws(DecodingFault) -> Bool {
        guard !left.isEmpty || decoder.hasMore else { return false }
        guard share.admits(self) else {
            isYielding = true
            return false
        }
        let (start, count) = (ContinuousClock.now, left.count)
        let hasMore = try decoder.step(&left)
        share.spend(max(count - left.count, decoder.piece.count), in: ContinuousClock.now - start)
        return hasMore
    }

    /// Why the content is not whole although the transfer is; nil where it is, or where nobody
    /// wants it whole.
    var contentError: TransferError? {
        guard !wasStopped, let content = codedContent else { return nil }
        var fault = content.fault
        if fault == nil {
            do throws(DecodingFault) { try content.decoder.finish() } catch { fault = error }
        }
        return fault.map {
            .url(.cannotDecodeRawData, at: request.url.string, message: $0.sentence)
        }
    }
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
