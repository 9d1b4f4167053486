internal import CNghttp2
internal import Loop

/// What nghttp2 tells of a connection's frames. Called while it has the connection: nothing may be
/// received or produced then.
@LoopActor
protocol HTTP2SessionOwner: AnyObject {
    /// A request begins, or a header of an answer: an interim one, its own, or its trailer.
    func headersBegin(_ id: Int32)

    /// A field of what has begun.
    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of id: Int32)

    /// What has begun is whole.
    func headersEnd(_ id: Int32, hasBody: Bool)

    /// Bytes of a body.
    func data(_ bytes: UnsafeRawBufferPointer, of id: Int32)

    /// Nothing more comes on a stream.
    func inputEnds(_ id: Int32)

    /// The peer has sent a frame.
    func received(_ frame: HTTP2Session.Frame)

    /// The header of a request goes out.
    func headersGoOut(_ id: Int32)

    /// How much of a body there is to send, at most `limit`, and whether that is the last of it.
    func offer(_ limit: Int, of id: Int32) -> (count: Int, isLast: Bool)

    /// Takes bytes of a body to send them.
    func take(_ count: Int, of id: Int32, _ send: (UnsafeRawBufferPointer) -> Void)

    /// The last frame of a body goes out.
    func outputEnds(_ id: Int32)

    /// The peer takes no new requests.
    func peerGoesAway()

    /// The stream is over; with an error code (RFC 9113 §7).
    func streamCloses(_ id: Int32, _ code: UInt32)
}

/// The frames of one connection of HTTP/2: nghttp2, and the C door of this target to it.
/// <https://nghttp2.org/documentation/apiref.html>
///
/// nghttp2 does the framing, the compression of headers, the windows and what the protocol asks of
/// both sides; it knows no socket. Bytes that it is to send gather in a place that all sessions
/// share.
@LoopActor
final class HTTP2Session {
    /// Which end of the connection it is.
    enum Side { case server, client }

    /// The kinds of frames that cost the peer nothing and move nothing.
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
        case refusedStream = 0x7
        case cancel = 0x8
        case enhanceYourCalm = 0xb
    }

    /// Streams that a client may have open at a time.
    static let streamLimit: UInt32 = 128
    /// Bytes of a body that may come before anybody has asked for them.
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
    private let side: Side
    private unowned let owner: any HTTP2SessionOwner

    /// A session with its SETTINGS to be sent.
    ///
    /// - Parameters:
    ///   - side: which end it is.
    ///   - owner: told what happens, and owner of the session.
    ///   - headerLimit: bytes of a header list.
    init(_ side: Side, owner: any HTTP2SessionOwner, headerLimit: Int) {
        self.side = side
        self.owner = owner
        let make =
            side == .server ? nghttp2_session_server_new2 : nghttp2_session_client_new2
        let code = make(
            &raw, HTTP2Session.callbacks, Unmanaged.passUnretained(self).toOpaque(),
            HTTP2Session.options)
        precondition(code == 0, "nghttp2 has no memory for a session")
        let ofSide =
            side == .server
            ? nghttp2_settings_entry(
                settings_id: CInt(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue),
                value: HTTP2Session.streamLimit)
            : nghttp2_settings_entry(
                settings_id: CInt(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)
        let settings = [
            ofSide,
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

    /// Takes bytes of the peer.
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

    // MARK: Bodies that come

    /// Lets the peer send as much again as was taken of a body.
    func consume(_ count: Int, of id: Int32) {
        nghttp2_session_consume(raw, id, count)
    }

    /// Lets the peer send as much again of other bodies.
    func consumeOfConnection(_ count: Int) {
        nghttp2_session_consume_connection(raw, count)
    }

    /// Lets the peer send so many bytes of a body ahead.
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
    ///   - hasBody: whether the owner has a body for it.
    ///   - id: of the stream.
    func submit(_ fields: HTTP2Fields, hasBody: Bool, of id: Int32) {
        fields.withEntries { entries, count in
            HTTP2Session.withProvider(hasBody) {
                _ = nghttp2_submit_response(raw, id, entries, count, $0)
            }
        }
    }

    /// What tells nghttp2 to ask the owner for a body; nil where there is none.
    private static func withProvider<Result>(
        _ hasBody: Bool, _ body: (UnsafePointer<nghttp2_data_provider>?) -> Result
    ) -> Result {
        guard hasBody else { return body(nil) }
        var provider = nghttp2_data_provider()
        provider.read_callback = HTTP2Session.readCallback
        return body(&provider)
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

    // MARK: Requests of a client

    /// Begins a request.
    ///
    /// - Parameters:
    ///   - fields: its header.
    ///   - hasBody: whether the owner has a body for it.
    /// - Returns: the stream that it has; nil where this connection has no more of them.
    func submitRequest(_ fields: HTTP2Fields, hasBody: Bool) -> Int32? {
        var id: Int32 = -1
        fields.withEntries { entries, count in
            id = HTTP2Session.withProvider(hasBody) {
                nghttp2_submit_request(raw, nil, entries, count, $0, nil)
            }
        }
        return id > 0 ? id : nil
    }

    /// Whether the server takes new requests on this connection.
    var takesRequests: Bool { nghttp2_session_check_request_allowed(raw) != 0 }

    /// How many requests the server takes at a time, as far as it has said.
    var remoteStreamLimit: Int {
        Int(
            nghttp2_session_get_remote_settings(
                raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
    }

    /// Asks for a sign of life.
    func ping() {
        nghttp2_submit_ping(raw, HTTP2Session.noFlags, nil)
    }

    // MARK: The end

    /// Takes no new requests; those that are here are answered.
    func goAway() {
        nghttp2_submit_goaway(
            raw, HTTP2Session.noFlags, nghttp2_session_get_last_proc_stream_id(raw),
            Code.noError.rawValue, nil, 0)
    }

    /// Ends everything, once the peer is told why.
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
        // `PeerConduct` judges by whether the client is trusted: nodes pass on what all their
        // clients take back.
        nghttp2_option_set_stream_reset_rate_limit(options, 1 << 32, 1 << 32)
        return options
    }

    private nonisolated static func makeCallbacks() -> OpaquePointer? {
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { raw, header, context in
            HTTP2Session.enterSession(context, with: (raw, header)) { session, frame in
                guard session.side == .server, let raw = frame.0, let header = frame.1?.pointee,
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
            HTTP2Session.enterSession(context, with: frame) { session, frame in
                guard let frame, frame.pointee.hasHeader(for: session.side) else { return }
                session.owner.headersBegin(frame.pointee.hd.stream_id)
            }
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _, frame, name, nameLength, value, valueLength, _, context in
            let name = UnsafeRawBufferPointer(start: name, count: nameLength)
            let value = UnsafeRawBufferPointer(start: value, count: valueLength)
            return HTTP2Session.enterSession(context, with: (frame, name, value)) {
                session, field in
                guard let frame = field.0, frame.pointee.hasHeader(for: session.side) else {
                    return
                }
                session.owner.field(field.1, field.2, of: frame.pointee.hd.stream_id)
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
            HTTP2Session.enterSession(context, with: frame) { session, frame in
                if let frame { session.note(frame.pointee) }
            }
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
            HTTP2Session.enterSession(context, with: frame) { session, frame in
                guard let header = frame?.pointee.hd else { return }
                if session.side == .client, UInt32(header.type) == NGHTTP2_HEADERS.rawValue {
                    session.owner.headersGoOut(header.stream_id)
                }
                if header.endsStream { session.owner.outputEnds(header.stream_id) }
            }
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, id, code, context in
            HTTP2Session.enter(context, with: (id, code)) { $0.streamCloses($1.0, $1.1) }
        }
        nghttp2_session_callbacks_set_send_data_callback(callbacks, sendCallback)
        return callbacks
    }

    /// A frame is here, whole.
    private func note(_ frame: nghttp2_frame) {
        let header = frame.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue where frame.hasHeader(for: side):
            owner.headersEnd(header.stream_id, hasBody: !header.endsStream)
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if header.endsStream {
                owner.inputEnds(header.stream_id)
            } else if frame.hasNoData {
                owner.received(.idle)
            }
        case NGHTTP2_RST_STREAM.rawValue: owner.received(.reset)
        case NGHTTP2_WINDOW_UPDATE.rawValue: owner.received(.windowUpdate)
        case NGHTTP2_GOAWAY.rawValue: owner.peerGoesAway()
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
        _, id, _, limit, flags, _, context in
        var (count, isLast) = (0, true)
        _ = enter(context, with: id) { (count, isLast) = $0.offer(limit, of: $1) }
        if count > 0 { flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_NO_COPY.rawValue) }
        if isLast { flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue) }
        return count > 0 || isLast ? count : Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }

    /// Puts a DATA frame behind what is to be sent.
    private nonisolated static let sendCallback: nghttp2_send_data_callback = {
        _, frame, header, length, _, context in
        var hasRoom = false
        _ = enter(context, with: (frame, header)) { owner, argument in
            guard HTTP2Session.outbox.count < HTTP2Session.outboxSize,
                let id = argument.0?.pointee.hd.stream_id
            else { return }
            hasRoom = true
            HTTP2Session.outbox.append(
                contentsOf: UnsafeBufferPointer(start: argument.1, count: 9))
            owner.take(length, of: id) { HTTP2Session.outbox.append(contentsOf: $0) }
        }
        return hasRoom ? 0 : CInt(NGHTTP2_ERR_WOULDBLOCK.rawValue)
    }
}

extension nghttp2_frame {
    /// Whether it brings a header that is read: trailers of requests are of no use to anybody.
    fileprivate func hasHeader(for side: HTTP2Session.Side) -> Bool {
        UInt32(hd.type) == NGHTTP2_HEADERS.rawValue
            && (side == .client || headers.cat == NGHTTP2_HCAT_REQUEST)
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
