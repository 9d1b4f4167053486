internal import CEvent
internal import Glibc
internal import Loop

/// Where a host listens, as connect(2) takes it.
struct SocketAddress: Sendable {
    private(set) var storage: sockaddr_storage
    let length: socklen_t
    let family: CInt

    /// Sets the port.
    mutating func set(port: UInt16) {
        let offset =
            family == AF_INET6
            ? MemoryLayout<sockaddr_in6>.offset(of: \.sin6_port)
            : MemoryLayout<sockaddr_in>.offset(of: \.sin_port)
        withUnsafeMutableBytes(of: &storage) {
            $0.storeBytes(of: port.bigEndian, toByteOffset: offset ?? 2, as: UInt16.self)
        }
    }

    /// The addresses of a host, without a port. Blocks for a name.
    static func look(up host: String, isNumber: Bool) -> Result<[SocketAddress], Connector.Failure>
    {
        var hints = addrinfo()
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        hints.ai_flags = isNumber ? AI_NUMERICHOST : AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else {
            return .failure(Connector.Failure(words: String(cString: gai_strerror(code))))
        }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            next = entry.ai_next
            guard [AF_INET, AF_INET6].contains(entry.ai_family), let address = entry.ai_addr,
                Int(entry.ai_addrlen) <= MemoryLayout<sockaddr_storage>.size
            else { continue }
            var storage = sockaddr_storage()
            withUnsafeMutableBytes(of: &storage) {
                $0.copyMemory(
                    from: UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
            }
            found.append(
                SocketAddress(storage: storage, length: entry.ai_addrlen, family: entry.ai_family))
        }
        return .success(found)
    }
}

/// Looks up names, each time anew, on threads of its own. A name that takes long has one of them at
/// most: whoever asks for it meanwhile gets what that look-up finds.
@LoopActor
final class NameLookups {
    typealias Outcome = Result<[SocketAddress], Connector.Failure>
    typealias Listener = @LoopActor (Outcome) -> Void

    private static let threadCount = 8

    private let look: @Sendable (String) -> Outcome
    /// Who waits for names that are being looked up.
    private var listeners: [String: [Listener]] = [:]
    private lazy var threads = FileThreads(count: NameLookups.threadCount)

    /// - Parameter look: looks up a name; it blocks.
    init(
        look: @escaping @Sendable (String) -> Outcome = {
            SocketAddress.look(up: $0, isNumber: false)
        }
    ) {
        self.look = look
    }

    /// Looks up a name.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - listener: called once, later.
    func find(_ name: String, then listener: @escaping Listener) {
        listeners[name, default: []].append(listener)
        guard listeners[name]?.count == 1 else { return }
        threads.submit { [look] in
            look(name)
        } then: { [weak self] found in
            guard let listeners = self?.listeners.removeValue(forKey: name) else { return }
            for listener in listeners {
                if case .success(let outcome) = found { listener(outcome) }
            }
        }
    }
}
