internal import CNghttp2
internal import Loop

/// What nghttp2 tells of a connection's frames. Called while it has the connection: nothing may be
/// received or produced then.
@LoopActor
protocol HTTP2SessionOwner: AnyObject {
    /// A request begins.
    func headersBegin(_ id: Int32)

    /// A field of a request's header.
    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of id: Int32)

    /// The header of a request is whole.
    func headersEnd(_ id: Int32, hasBody: Bool)

    /// Bytes of a request's body.
    func data(_ bytes: UnsafeRawBufferPointer, of id: Int32)

    /// Nothing more comes of a request.
    func inputEnds(_ id: Int32)

    /// The client has sent a frame.
    func received(_ frame: HTTP2Session.Frame)

    /// The last frame of an answer goes out.
    func outputEnds(_ id: Int32)

    /// The stream is over.
    func streamCloses(_ id: Int32)
}

/// The frames of one connection of HTTP/2: nghttp2, and the C door of this target to it.
/// <https://nghttp2.org/documentation/apiref.html>
///
/// nghttp2 does the framing, the compression of headers, the windows and what the protocol asks of
/// both sides; it knows no socket. Bytes that it is to send gather in a place that all sessions
/// share.
@LoopActor
final class HTTP2Session {
    /// The kinds of frames that cost the client nothing and move nothing.
    enum Frame {
        /// A request is taken back, or something is wrong with it.
        case reset
        case windowUpdate
        case idle
    }

    /// Error codes (RFC 9113 §7).
    enum Code: UInt32 {
        case noError = 0x0
        case protocolError = 0x1
        case internalError = 0x2
        case enhanceYourCalm = 0xb
    }

    /// Streams that a client may have open at a time.
    static let streamLimit: UInt32 = 128
    /// Bytes of a request's body that may come before anybody has asked for them.
    nonisolated static let initialWindow = 64 << 10
    /// Bytes by which the windows of all bodies together may grow.
    nonisolated static let windowGrowth = 4 << 20
    /// The window of all bodies together. Twice what their own windows let come, as nghttp2 gives
    /// none of it back before half is taken: so no body that nobody takes can stop another.
    private static let connectionWindow = 2 * (Int(streamLimit) * initialWindow + windowGrowth)
    /// How many streams are remembered that this side has ended.
    private static let endedLimit = 256
    /// Bytes that are produced at once.
    static let outboxSize = 64 << 10

    /// What is to be sent.
    private static var outbox: [UInt8] = {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(outboxSize + (32 << 10))
        return bytes
    }()

    private var raw: OpaquePointer?
    /// The streams that this side has ended last: frames of theirs may be on their way.
    private var ended: [Int32] = []
    private unowned let owner: any HTTP2SessionOwner

    /// A session of the server's side, with its SETTINGS to be sent.
    ///
    /// - Parameters:
    ///   - owner: told what happens, and owner of the session.
    ///   - headerLimit: bytes of a header list.
    init(owner: any HTTP2SessionOwner, headerLimit: Int) {
        self.owner = owner
        let code = nghttp2_session_server_new2(
            &raw, HTTP2Session.callbacks, Unmanaged.passUnretained(self).toOpaque(),
            HTTP2Session.options)
        precondition(code == 0, "nghttp2 has no memory for a session")
        let settings = [
            nghttp2_settings_entry(
                settings_id: CInt(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
                value: HTTP2Session.streamLimit),
            nghttp2_settings_entry(
                settings_id: CInt(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
                value: UInt32(HTTP2Session.initialWindow)),
            nghttp2_settings_entry(
                settings_id: CInt(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(headerLimit)),
        ]
        nghttp2_submit_settings(raw, HTTP2Session.noFlags, settings, settings.count)
        nghttp2_session_set_local_window_size(
            raw, HTTP2Session.noFlags, 0, Int32(HTTP2Session.connectionWindow))
    }

    isolated deinit {
        nghttp2_session_del(raw)
    }

    // MARK: Bytes

    /// Takes bytes of the client.
    /// - Returns: why the connection cannot go on; nil where it can.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Code? {
        let taken = nghttp2_session_mem_recv(
            raw, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        if taken >= 0 { return nil }
        // Else it is more than nghttp2 puts up with: acknowledgements that nobody takes,
        // CONTINUATION.
        return taken == Int(NGHTTP2_ERR_BAD_CLIENT_MAGIC.rawValue)
            ? .protocolError : .enhanceYourCalm
    }

    /// Lends the next bytes to send, about `outboxSize` of them or none.
    /// - Returns: false where the connection cannot go on.
    func produce(_ send: (UnsafeRawBufferPointer) -> Void) -> Bool {
        HTTP2Session.outbox.removeAll(keepingCapacity: true)
        while HTTP2Session.outbox.count < HTTP2Session.outboxSize {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(raw, &bytes)
            guard count >= 0 else { return false }
            if count == 0 { break }
            HTTP2Session.outbox.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
        HTTP2Session.outbox.withUnsafeBytes(send)
        return true
    }

    /// Whether nothing is to be received and nothing to be sent any more.
    var isOver: Bool {
        nghttp2_session_want_read(raw) == 0 && nghttp2_session_want_write(raw) == 0
    }

    // MARK: Requests

    /// Lets the client send as much again as was taken of a body.
    func consume(_ count: Int, of id: Int32) {
        nghttp2_session_consume(raw, id, count)
    }

    /// Lets the client send as much again of other bodies.
    func consumeOfConnection(_ count: Int) {
        nghttp2_session_consume_connection(raw, count)
    }

    /// Lets the client send so many bytes of a body ahead.
    func setWindow(_ size: Int, of id: Int32) {
        nghttp2_session_set_local_window_size(raw, HTTP2Session.noFlags, id, Int32(size))
    }

    // MARK: Answers

    /// Asks for the request's body (RFC 9110 §15.2.1).
    func submitContinue(_ id: Int32) {
        let fields = HTTP2Fields(status: 100)
        fields.withEntries {
            _ = nghttp2_submit_headers(raw, HTTP2Session.noFlags, id, nil, $0, $1, nil)
        }
    }

    /// Begins an answer.
    ///
    /// - Parameters:
    ///   - fields: its header.
    ///   - stream: has the body; nil for an answer without one.
    ///   - id: of the stream.
    func submit(_ fields: HTTP2Fields, body stream: HTTP2Stream?, of id: Int32) {
        fields.withEntries { entries, count in
            guard let stream else {
                _ = nghttp2_submit_response(raw, id, entries, count, nil)
                return
            }
            var provider = nghttp2_data_provider()
            provider.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
            provider.read_callback = HTTP2Session.readCallback
            _ = nghttp2_submit_response(raw, id, entries, count, &provider)
        }
    }

    /// There is more of a body that had nothing to send.
    func resume(_ id: Int32) {
        nghttp2_session_resume_data(raw, id)
    }

    /// Ends a stream in its middle.
    func reset(_ id: Int32, _ code: Code) {
        if ended.count == HTTP2Session.endedLimit { ended.removeFirst() }
        ended.append(id)
        nghttp2_submit_rst_stream(raw, HTTP2Session.noFlags, id, code.rawValue)
    }

    // MARK: The end

    /// Takes no new requests; those that are here are answered.
    func goAway() {
        nghttp2_submit_goaway(
            raw, HTTP2Session.noFlags, nghttp2_session_get_last_proc_stream_id(raw),
            Code.noError.rawValue, nil, 0)
    }

    /// Ends everything, once the client is told why.
    func terminate(_ code: Code) {
        nghttp2_session_terminate_session(raw, code.rawValue)
    }
}

// MARK: - What nghttp2 calls

extension HTTP2Session {
    fileprivate nonisolated static let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

    private static let options = makeOptions()
    private static let callbacks = makeCallbacks()

    private nonisolated static func makeOptions() -> OpaquePointer? {
        var options: OpaquePointer?
        nghttp2_option_new(&options)
        // Windows grow as bodies are taken, and not before.
        nghttp2_option_set_no_auto_window_update(options, 1)
        return options
    }

    private nonisolated static func makeCallbacks() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { raw, header, context in
            HTTP2Session.enterSession(context, with: (raw, header)) { session, frame in
                guard let raw = frame.0, let header = frame.1?.pointee,
                    header.opensPassedStream(of: raw), !session.ended.contains(header.stream_id)
                else { return }
                nghttp2_session_terminate_session(raw, Code.protocolError.rawValue)
            }
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
            _, _, _, context in
            HTTP2Session.enter(context, with: ()) { owner, _ in owner.received(.reset) }
        }
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            HTTP2Session.enter(context, with: frame) { owner, frame in
                guard let frame, frame.pointee.isOfRequest else { return }
                owner.headersBegin(frame.pointee.hd.stream_id)
            }
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, context in
            let name = UnsafeRawBufferPointer(start: name, count: nameLength)
            let value = UnsafeRawBufferPointer(start: value, count: valueLength)
            return HTTP2Session.enter(context, with: (frame, name, value)) { owner, field in
                // Trailers are of no use to anybody here.
                guard let frame = field.0, frame.pointee.isOfRequest else { return }
                owner.field(field.1, field.2, of: frame.pointee.hd.stream_id)
            }
        }
        // on any doubt the stream is reset.
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) {
            _, _, _, _, _, _, _, _ in CInt(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            _, _, id, bytes, count, context in
            let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
            return HTTP2Session.enter(context, with: (id, bytes)) { $0.data($1.1, of: $1.0) }
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            HTTP2Session.enter(context, with: frame) { owner, frame in
                if let frame { HTTP2Session.note(frame.pointee, owner) }
            }
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
            HTTP2Session.enter(context, with: frame) { owner, frame in
                guard let header = frame?.pointee.hd, header.endsStream else { return }
                owner.outputEnds(header.stream_id)
            }
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, _, context in
            HTTP2Session.enter(context, with: id) { $0.streamCloses($1) }
        }
        nghttp2_session_callbacks_set_send_data_callback(callbacks, sendCallback)
        return callbacks
    }

    /// A frame is here, whole.
    private static func note(_ frame: nghttp2_frame, _ owner: any HTTP2SessionOwner) {
        let header = frame.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue where frame.isOfRequest:
            owner.headersEnd(header.stream_id, hasBody: !header.endsStream)
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if header.endsStream {
                owner.inputEnds(header.stream_id)
            } else if frame.hasNoData {
                owner.received(.idle)
            }
        case NGHTTP2_RST_STREAM.rawValue: owner.received(.reset)
        case NGHTTP2_WINDOW_UPDATE.rawValue: owner.received(.windowUpdate)
        default: owner.received(.idle)
        }
    }

    private nonisolated static func enter<Argument>(
        _ context: UnsafeMutableRawPointer?, with argument: Argument,
        _ body: @LoopActor (any HTTP2SessionOwner, Argument) -> Void
    ) -> CInt {
        enterSession(context, with: argument) { body($0.owner, $1) }
    }

    private nonisolated static func enterSession<Argument>(
        _ context: UnsafeMutableRawPointer?, with argument: Argument,
        _ body: @LoopActor (HTTP2Session, Argument) -> Void
    ) -> CInt {
        LoopActor.enter(with: (context, argument)) { context, argument in
            guard let context else { return }
            body(Unmanaged<HTTP2Session>.fromOpaque(context).takeUnretainedValue(), argument)
        }
        return 0
    }

    /// How much of a body there is to send.
    private nonisolated static let readCallback: nghttp2_data_source_read_callback = {
        _, _, _, limit, flags, source, _ in
        let (count, isLast) = LoopActor.enter(with: source?.pointee.ptr) {
            HTTP2Stream.at($0)?.offer(limit) ?? (0, true)
        }
        if count > 0 { flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_NO_COPY.rawValue) }
        if isLast { flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
        return count > 0 || isLast ? count : Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }

    /// Puts a DATA frame behind what is to be sent.
    private nonisolated static let sendCallback: nghttp2_send_data_callback = {
        _, _, header, length, source, _ in
        let hasRoom = LoopActor.enter(with: (source?.pointee.ptr, header)) { pointer, header in
            guard HTTP2Session.outbox.count < HTTP2Session.outboxSize else { return false }
            HTTP2Session.outbox.append(contentsOf: UnsafeBufferPointer(start: header, count: 9))
            HTTP2Stream.at(pointer)?.take(length) { HTTP2Session.outbox.append(contentsOf: $0) }
            return true
        }
        return hasRoom ? 0 : CInt(NGHTTP2_ERR_WOULDBLOCK.rawValue)
    }
}

extension HTTP2Stream {
    /// The stream that was given to nghttp2 as the source of an answer's body. It lives as long as
    /// its connection knows it, and nghttp2 forgets it before.
    fileprivate static func at(_ pointer: UnsafeMutableRawPointer?) -> HTTP2Stream? {
        pointer.map { Unmanaged<HTTP2Stream>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension nghttp2_frame {
    /// Whether it brings the header of a request.
    fileprivate var isOfRequest: Bool {
        UInt32(hd.type) == NGHTTP2_HEADERS.rawValue && headers.cat == NGHTTP2_HCAT_REQUEST
    }

    /// Whether it is DATA with nothing in it, or with padding only.
    fileprivate var hasNoData: Bool {
        UInt32(hd.type) == NGHTTP2_DATA.rawValue && hd.length == data.padlen
    }
}

extension nghttp2_frame_hd {
    /// Whether it begins a stream that its client has passed over (RFC 9113 §5.1.1). nghttp2 knows
    /// which streams were closed lately, and lets the others be.
    fileprivate func opensPassedStream(of raw: OpaquePointer) -> Bool {
        UInt32(type) == NGHTTP2_HEADERS.rawValue && stream_id % 2 == 1
            && stream_id <= nghttp2_session_get_last_proc_stream_id(raw)
            && nghttp2_session_find_stream(raw, stream_id) == nil
    }

    /// Whether it is the last of its stream, in its direction.
    fileprivate var endsStream: Bool {
        let type = UInt32(type)
        return (type == NGHTTP2_DATA.rawValue || type == NGHTTP2_HEADERS.rawValue)
            && flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    }
}
