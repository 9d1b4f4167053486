internal import Diagnostics
internal import Files
internal import Glibc
public import Loop
internal import Synchronization

/// A reserve in a file that has its blocks and holds nothing: it is made shorter where the store
/// needs room.
///
/// It has 64 MiB, or a sixteenth of a file system that has less than 1 GiB, and is for its owner
/// only. It is given up in sixteenths, so that not all of it goes to whoever else writes to the
/// disk.
public final class ReserveFile: Reserve {
    private static let byteLimit: Int64 = 64 << 20
    private static let partCount: Int64 = 16

    private struct State {
        var descriptor: CInt = -1
        /// How many bytes have their blocks for certain.
        var held: Int64 = 0
        /// Bytes of a part: a multiple of 4096.
        var part: Int64 = 0
        /// Whether the log has been told that nothing can be released.
        var hasTold = false
    }

    private let path: String
    private let files: FileThreads
    private let lane: Int
    private let state = Mutex(State())
    private let log = Log("engine.reserve")

    /// A reserve at a path, on the store's file system; what an earlier process has left there is
    /// taken over.
    public init(at path: String, files: FileThreads) {
        self.path = path
        self.files = files
        lane = files.makeLane()
    }

    deinit {
        state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } }
    }

    /// Shortens the file by a part.
    public func release() async -> Bool {
        do {
            return try await files.run(on: lane) { [self] in
                try state.withLock { state in
                    // One that has lost its name has its blocks all the same.
                    if state.descriptor < 0 { try open(&state) }
                    return try ReserveFile.shorten(&state)
                }
            }
        } catch {
            let isNews = state.withLock { state in
                defer { state.hasTold = true }
                return !state.hasTold
            }
            if isNews {
                log.write(.error, "no room can be released", ["error": .words("\(error)")])
            }
            return false
        }
    }

    /// Allocates what is missing, part by part. A file that somebody has removed is made again.
    /// - Throws: `FileError`, as where the file system cannot allocate.
    public func refill() async throws -> Bool {
        try await files.run(on: lane) { [self] in
            try state.withLock { state in
                do {
                    try open(&state)
                    return try ReserveFile.fill(&state)
                } catch let error as FileError where error.isOutOfSpace {
                    return false
                }
            }
        }
    }

    // MARK: On the lane

    private func open(_ state: inout State) throws {
        var (here, named) = (stat(), stat())
        if state.descriptor >= 0 {
            let isThere = stat(path, &named) == 0 && fstat(state.descriptor, &here) == 0
            if isThere, named.st_ino == here.st_ino, here.st_size >= state.held { return }
            close(state.descriptor)
            state = State()
        }
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        state.descriptor = Glibc.open(path, flags, 0o600)
        guard state.descriptor >= 0, fchmod(state.descriptor, 0o600) == 0,
            fstat(state.descriptor, &here) == 0
        else { throw FileError("open", code: errno) }
        state.part = try ReserveFile.partSize(on: state.descriptor)
        // Whether an old one has all its blocks is for `fill` to find out; what it has can be
        // released.
        let whole = state.part * ReserveFile.partCount
        state.held = min(Int64(here.st_size) / state.part * state.part, whole)
        try ReserveFile.cut(state)
    }

    private static func partSize(on descriptor: CInt) throws -> Int64 {
        var system = statvfs()
        guard fstatvfs(descriptor, &system) == 0 else { throw FileError("fstatvfs", code: errno) }
        let bytes = system.bytes(of: system.f_blocks)
        let whole = bytes > 0 ? min(byteLimit, bytes / 16) : byteLimit
        return max(1, whole / partCount / 4096) * 4096
    }

    private static func shorten(_ state: inout State) throws -> Bool {
        guard state.held > 0 else { return false }
        state.held -= state.part
        try cut(state)
        return true
    }

    private static func fill(_ state: inout State) throws -> Bool {
        let whole = state.part * partCount
        // The first time, what is there already is looked at too: a copy of a data directory has
        // holes.
        var start: Int64 = 0
        while start < whole {
            var code = EINTR
            while code == EINTR {
                code = posix_fallocate(state.descriptor, off_t(start), off_t(state.part))
            }
            guard code == 0 else {
                // Some file systems keep what they had found by then.
                state.held = start
                try cut(state)
                throw FileError("posix_fallocate", code: code)
            }
            start += state.part
            state.held = start
        }
        return true
    }

    private static func cut(_ state: State) throws {
        guard ftruncate(state.descriptor, off_t(state.held)) == 0 else {
            throw FileError("ftruncate", code: errno)
        }
    }
}
