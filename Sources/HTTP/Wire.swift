internal import Glibc
internal import Loop
internal import TLS

/// What is told of a wire.
@LoopActor
protocol WireOwner: AnyObject {
    /// There is more to read.
    func bytesHaveArrived()

    /// What was queued is sent, or enough of it.
    func outputHasDrained()

    /// The client has shut its sending side: most likely it is gone.
    func clientHasEnded()

    /// The connection is broken.
    func clientHasGone()
}

/// One socket: the C door of this target.
///
/// What arrives is received into a place that all wires share, and only what nobody consumes at
/// once is copied. What is sent goes to the socket at once while nothing is queued, and only what
/// the kernel does not take is copied and sent when there is room. So a small request costs two
/// system calls, and a connection that rests has no buffer.
///
/// With TLS, what arrives is decrypted into that place, and what waits is waiting in clear: a
/// record that the kernel has taken in part counts as not taken.
@LoopActor
final class Wire {
    /// Bytes of input that are kept; the socket is not read while there are as many.
    static let readAhead = 64 << 10
    /// Where bytes arrive. They are there until the callback returns that brings them.
    private static let arrival = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 16 << 10, alignment: 64)

    private var socket: CInt = -1
    /// Nil once the wire is closed.
    private var reading: Watch?
    /// Made when something is queued first.
    private var writing: Watch?
    /// Who is told; it outlives the open wire.
    private unowned var owner: (any WireOwner)?
    private var drainMark = 0
    /// What is between the socket and everybody else; nil where that is nothing.
    private var tls: TLSLayer?
    /// What of the arrival has not been consumed, inside the callback.
    private var arrived = 0..<0
    /// What was not consumed in the callbacks that brought it.
    private var input = ByteQueue()
    private var output = ByteQueue()
    /// Whether the client has sent its last byte.
    private var hasEnded = false
    /// Whether the socket is not read for want of room.
    private var isFull = false
    /// Whether nothing can be sent any more.
    private var isBroken = false
    /// Bytes handed over, to the kernel or the queue.
    private(set) var handed: Int64 = 0

    init() {}

    /// Takes over a connected, non-blocking socket.
    ///
    /// - Parameters:
    ///   - socket: Closed with the wire.
    ///   - owner: Told of what happens until `close`.
    ///   - tls: How this end speaks TLS; nil for a socket in clear.
    func open(socket: CInt, owner: any WireOwner, tls: (any TLSEnd)? = nil) {
        self.socket = socket
        self.owner = owner
        guard let tls else {
            reading = Watch(socket: socket, for: .read) { [unowned self] _ in receive() }
            return
        }
        self.tls = TLSLayer(tls, socket: socket) { [unowned self] in advance(timeIsUp: true) }
        reading = Watch(socket: socket, for: .read) { [unowned self] _ in advance() }
        if self.tls == nil { breakDown() }
    }

    /// Begins a handshake: the client's end speaks first.
    func greet() { advance() }

    /// Tells another owner from now on.
    ///
    /// - Parameters:
    ///   - owner: Told of what happens until `close`.
    ///   - mark: The owner is told after each write that leaves no more than this queued.
    func change(owner: any WireOwner, drainedBelow mark: Int) {
        self.owner = owner
        drainMark = mark
    }

    // MARK: Receiving

    private func receive() {
        let count = recv(
            socket, Wire.arrival.baseAddress, Wire.arrival.count, CInt(MSG_DONTWAIT))
        guard count > 0 else {
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            hasEnded = true
            reading?.cancel()
            count == 0 ? owner?.clientHasEnded() : owner?.clientHasGone()
            return
        }
        bring(count)
    }

    /// Shows the owner bytes that are in `arrival`, and keeps what it does not consume.
    @inline(__always)
    private func bring(_ count: Int) {
        if input.isEmpty {
            arrived = 0..<count
        } else {
            input.append(UnsafeRawBufferPointer(rebasing: Wire.arrival[..<count]))
        }
        owner?.bytesHaveArrived()
        if !arrived.isEmpty {
            input.append(UnsafeRawBufferPointer(rebasing: Wire.arrival[arrived]))
            arrived = 0..<0
        }
        if input.count >= Wire.readAhead, !isFull {
            isFull = true
            reading?.cancel()
        }
    }

    /// Lends what has arrived and was not consumed.
    @inline(__always)
    func withInput<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if arrived.isEmpty { return input.withBytes(body) }
        return body(UnsafeRawBufferPointer(rebasing: Wire.arrival[arrived]))
    }

    /// Takes at most `limit` bytes, possibly none: what has arrived, and then what the socket has.
    /// The end of the stream and errors are left to be seen later.
    func take(_ limit: Int) -> [UInt8] {
        guard reading != nil, limit > 0 else { return [] }
        let taken = takeIntoRoom(of: limit)
        guard taken.count < limit / 2 else { return taken }
        // Whoever keeps it is not to keep the room of what has not come.
        return [UInt8](unsafeUninitializedCapacity: taken.count) { buffer, filled in
            filled = taken.withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(buffer).copyMemory(from: bytes)
                return bytes.count
            }
        }
    }

    private func takeIntoRoom(of limit: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, filled in
            let room = UnsafeMutableRawBufferPointer(buffer)
            filled = withInput { input in
                let count = min(limit, input.count)
                room.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
                return count
            }
            consume(filled)
            guard filled < limit, let start = room.baseAddress else { return }
            if let tls {
                let rest = UnsafeMutableRawBufferPointer(rebasing: room[filled...])
                filled += tls.connection.read(into: rest, isEager: true)
                if tls.connection.holdsInput || tls.connection.ending != nil {
                    tls.wakeUpSoon()
                }
            } else {
                filled += max(0, recv(socket, start + filled, limit - filled, CInt(MSG_DONTWAIT)))
            }
        }
    }

    /// Forgets the first bytes of the input.
    func consume(_ count: Int) {
        guard arrived.isEmpty else {
            arrived = arrived.lowerBound + count..<arrived.upperBound
            return
        }
        input.drop(count)
        if isFull, input.count < Wire.readAhead {
            isFull = false
            if !hasEnded { reading?.start() }
            if let tls, tls.connection.holdsInput { tls.wakeUpSoon() }
        }
    }

    /// Forgets all of the input.
    func discardInput() { consume(withInput(\.count)) }

    /// Whether bytes wait to be read.
    var hasInput: Bool { !arrived.isEmpty || !input.isEmpty }

    /// Whether nothing has arrived, not even at the socket, and nothing waits to be sent.
    var isSilent: Bool {
        guard !hasInput, queued == 0, tls?.connection.holdsInput != true else { return false }
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) <= 0
    }

    // MARK: Sending

    /// Bytes that the kernel has not taken yet.
    var queued: Int { output.count }

    /// Bytes that the kernel has taken.
    var written: Int64 { handed - Int64(queued) }

    /// Sends `bytes`.
    func send(_ bytes: UnsafeRawBufferPointer) {
        var part = iovec(
            iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        withUnsafeMutablePointer(to: &part) { send(parts: $0, count: 1, bytes.count) }
    }

    /// Sends three runs of bytes in one system call.
    ///
    /// With a document, whose bytes the second one is, and nothing behind it, what the kernel does
    /// not take of it waits in its own room, which many wires may share.
    func send(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer,
        _ third: UnsafeRawBufferPointer, of document: [UInt8]? = nil
    ) {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: 3) { parts in
            guard let start = parts.baseAddress else { return }
            for (index, bytes) in [first, second, third].enumerated() {
                parts[index] = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    iov_len: bytes.count)
            }
            send(parts: start, count: 3, first.count + second.count + third.count, of: document)
        }
    }

    private func send(
        parts: UnsafeMutablePointer<iovec>, count: Int, _ total: Int, of document: [UInt8]? = nil
    ) {
        guard reading != nil, !isBroken else { return }
        handed += Int64(total)
        var taken = 0
        if output.isEmpty {
            guard let sent = transmit(parts, count) else { return breakDown() }
            if sent == total { return }
            taken = sent
            if let document, taken >= parts[0].iov_len {
                output = ByteQueue(document)
                output.drop(taken - parts[0].iov_len)
                return watchForRoom()
            }
        }
        for index in 0..<count {
            let part = UnsafeRawBufferPointer(
                start: parts[index].iov_base, count: parts[index].iov_len)
            let skipped = min(taken, part.count)
            taken -= skipped
            output.append(UnsafeRawBufferPointer(rebasing: part[skipped...]))
        }
        watchForRoom()
    }

    /// Gives bytes to the kernel.
    /// - Returns: how many it has taken; nil where the connection is broken.
    private func transmit(_ parts: UnsafeMutablePointer<iovec>, _ count: Int) -> Int? {
        if let tls { return tls.connection.write(parts, count) }
        var message = msghdr()
        message.msg_iov = parts
        message.msg_iovlen = count
        let taken = sendmsg(socket, &message, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
        guard taken < 0 else { return taken }
        return errno == EAGAIN || errno == EINTR ? 0 : nil
    }

    private func watchForRoom() {
        // Until the handshake is done nothing can be sent, whatever room the socket has.
        guard !output.isEmpty, tls?.takesOutput != false else { return }
        awaitRoom()
    }

    private func awaitRoom() {
        if let writing {
            writing.start()
        } else {
            writing = Watch(socket: socket, for: .write) { [unowned self] _ in
                tls == nil ? sendQueued() : roomHasCome()
            }
        }
    }

    private func sendQueued() {
        let taken = output.withBytes { bytes in
            var part = iovec(
                iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                iov_len: bytes.count)
            return transmit(&part, 1)
        }
        guard let taken else {
            isBroken = true
            owner?.clientHasGone()
            return
        }
        output.drop(taken)
        if output.isEmpty { writing?.cancel() }
        if queued <= drainMark { owner?.outputHasDrained() }
    }

    /// The client has gone; the owner hears of it once it has come to rest.
    private func breakDown() {
        isBroken = true
        LoopActor.later { [self] in
            if reading != nil { owner?.clientHasGone() }
        }
    }

    // MARK: TLS

    /// Whether nothing can be sent yet.
    var isInHandshake: Bool { tls?.connection.isEstablished == false }

    /// What the handshake has agreed on; nil where it has not, or where there was none.
    var applicationProtocol: String? { tls?.connection.applicationProtocol }

    /// Goes on with the handshake, or reads: the socket can be read, or the layer holds something.
    private func advance(timeIsUp: Bool = false) {
        guard let tls, reading != nil else { return }
        let wasEstablished = tls.connection.isEstablished
        switch tls.advance(timeIsUp: timeIsUp) {
        case .awaitInput: return
        case .awaitRoom:
            reading?.cancel()
            return awaitRoom()
        case .end: return end(with: .cut)
        case .goOn: break
        }
        // What the owner has sent during the handshake.
        if !wasEstablished { sendWhatWaited() }
        decrypt(tls)
    }

    private func decrypt(_ tls: TLSLayer) {
        guard reading != nil, !isFull, !hasEnded else { return }
        let count = tls.connection.read(into: Wire.arrival)
        if count > 0 {
            bring(count)
        } else if let ending = tls.connection.ending {
            return end(with: ending)
        }
        guard reading != nil else { return }
        if tls.connection.readNeedsRoom {
            reading?.cancel()
            awaitRoom()
        } else if tls.connection.holdsInput {
            tls.wakeUpSoon()
        }
    }

    /// The output waited for something else than room.
    private func sendWhatWaited() {
        guard !output.isEmpty, tls?.takesOutput != false else { return }
        sendQueued()
        watchForRoom()
    }

    private func end(with ending: TLSConnection.Ending) {
        hasEnded = true
        reading?.cancel()
        ending == .closed ? owner?.clientHasEnded() : owner?.clientHasGone()
    }

    /// The socket has room: for the handshake, for what a read has to send first, for the output,
    /// or for the end.
    private func roomHasCome() {
        guard let tls else { return }
        if !tls.connection.isEstablished || tls.connection.readNeedsRoom {
            writing?.cancel()
            if !isFull, !hasEnded { reading?.start() }
            advance()
            return sendWhatWaited()
        }
        guard output.isEmpty else { return sendQueued() }
        writing?.cancel()
        if tls.isGoodbyeDue { endSending() }
    }

    // MARK: Ending

    /// Tells the client that nothing more will come. Everything has to be sent.
    func endSending() {
        guard reading != nil else { return }
        guard let tls else {
            shutdown(socket, CInt(SHUT_WR))
            return
        }
        tls.endSending()
        if tls.isGoodbyeDue { awaitRoom() }
    }

    /// Closes the socket; what is queued is lost. No callback comes afterwards.
    func close() {
        guard let reading else { return }
        reading.cancel()
        writing?.cancel()
        tls?.close(isWhole: output.isEmpty)
        (self.reading, writing, tls) = (nil, nil, nil)
        arrived = 0..<0
        (input, output) = (ByteQueue(), ByteQueue())
        Glibc.close(socket)
    }

    /// Closes with RST, for an answer whose end the client could not tell from a cut otherwise.
    func reset() {
        tls?.close(isWhole: false)
        tls = nil
        var linger = linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout.size(ofValue: linger))
        if reading != nil { setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, size) }
        close()
    }

    isolated deinit {
        close()
    }
}
