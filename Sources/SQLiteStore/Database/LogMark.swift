internal import Diagnostics
internal import GRDB
internal import GRDBSQLite
internal import Glibc
internal import Synchronization

/// Notes beside the database how far its log has got, so that a start behind a sudden end can tell
/// whether the log is still all there: SQLite takes what it finds up to the first damage, and says
/// nothing.
///
/// It costs no sync: behind a crash of the process the note is exact, because the kernel has it.
/// Behind a crash of the machine it may be older than the log, and then counts only where it is
/// about the same one. <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>
final class LogMark: Sendable {
    /// What the note says: the salts of the log, the frames that it had, and the boot of the
    /// machine.
    private struct Note: Equatable {
        var salts: UInt64 = 0
        var frames: UInt64 = 0
        var boot: [UInt8] = []

        static let length = 16 + 36

        var bytes: [UInt8] {
            withUnsafeBytes(of: salts) { Array($0) } + withUnsafeBytes(of: frames) { Array($0) }
                + boot
        }

        init(salts: UInt64, frames: UInt64, boot: [UInt8]) {
            (self.salts, self.frames, self.boot) = (salts, frames, boot)
        }

        init?(_ bytes: [UInt8]) {
            guard bytes.count == Note.length else { return nil }
            salts = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 0, as: UInt64.self) }
            frames = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }
            boot = Array(bytes[16...])
        }
    }

    private static let log = Log("store.log")
    private let mark: CInt
    /// The log's own file, open to the end: closing it would take SQLite's locks away.
    private let wal: Mutex<CInt>
    private let walPath: String
    private let boot: [UInt8]

    /// Opens the note of a database that has been opened; nil where that cannot be, which is
    /// logged.
    init?(database: String) {
        walPath = database + "-wal"
        boot = LogMark.currentBoot
        mark = open(database + "-mark", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        wal = Mutex(-1)
        guard mark >= 0 else {
            LogMark.log.write(
                .warning, "how far the log gets cannot be noted",
                ["error": .words(String(cString: strerror(errno)))])
            return nil
        }
    }

    deinit {
        close(mark)
        wal.withLock { if $0 >= 0 { close($0) } }
    }

    /// Takes note of every commit of the connection that writes, before it is answered. The mark
    /// must outlive the connection's last commit.
    func follow(_ writer: Database) {
        sqlite3_wal_hook(
            writer.sqliteConnection,
            { context, _, _, frames in
                guard let context else { return SQLITE_OK }
                Unmanaged<LogMark>.fromOpaque(context).takeUnretainedValue()
                    .note(frames: Int(frames))
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Notes that the log has so many frames now. About 2 µs.
    private func note(frames: Int) {
        var header = [UInt8](repeating: 0, count: 8)
        let descriptor = wal.withLock { wal in
            if wal < 0 { wal = open(walPath, O_RDONLY | O_CLOEXEC) }
            return wal
        }
        guard descriptor >= 0, pread(descriptor, &header, 8, 16) == 8 else { return }
        let salts = header.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        let bytes = Note(salts: salts, frames: UInt64(frames), boot: boot).bytes
        _ = pwrite(mark, bytes, bytes.count, 0)
    }

    /// The database is closed: its log is gone, for the right reason.
    static func remove(database: String) {
        unlink(database + "-mark")
    }

    // MARK: At a start

    /// Looks whether the log of a database that nobody has open has all that it had, and logs what
    /// is missing.
    /// - Returns: how many frames are missing; 0 where that is not known.
    @discardableResult
    static func check(database: String) -> Int {
        guard let bytes = contents(of: database + "-mark"), let note = Note(bytes), note.frames > 0
        else { return 0 }
        let (salts, frames) = wholeFrames(ofLog: database + "-wal")
        // Behind a crash of the machine the log may have started over since.
        guard salts == note.salts || note.boot == currentBoot else { return 0 }
        let whole = salts == note.salts ? frames : 0
        guard whole < note.frames else { return 0 }
        log.write(
            .error,
            """
            the database's log is damaged or missing: the newest changes are lost, also such as were \
            acknowledged
            """,
            [
                "log": .words(database + "-wal"), "kept": .number(whole),
                "of": .number(Int(note.frames)),
            ])
        return Int(note.frames) - whole
    }

    /// The salts of a log, and how many of its frames are whole, from the first on.
    ///
    /// One frame is in memory at a time: behind a long backup, or a new key, the log is as large as
    /// the database.
    private static func wholeFrames(ofLog path: String) -> (salts: UInt64, frames: Int) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return (0, 0) }
        defer { close(file) }
        guard let header = next(32, of: file) else { return (0, 0) }
        var sum = LogChecksum(isBigEndian: word(of: header, at: 0) & 1 == 1)
        sum.add(header[..<24])
        let salts = salts(of: header, at: 16)
        let pageSize = Int(word(of: header, at: 8))
        guard pageSize >= 512, pageSize <= 65_536, pageSize.isMultiple(of: 8),
            sum.isThat(of: header, at: 24)
        else { return (0, 0) }
        var frames = 0
        while let frame = next(24 + pageSize, of: file), Self.salts(of: frame, at: 8) == salts {
            sum.add(frame[..<8])
            sum.add(frame[24...])
            guard sum.isThat(of: frame, at: 16) else { break }
            frames += 1
        }
        return (salts, frames)
    }

    /// The next bytes of a file; nil where there are fewer, or they cannot be read.
    private static func next(_ count: Int, of file: Int32) -> [UInt8]? {
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            while let start = buffer.baseAddress, length < count {
                let got = read(file, start + length, count - length)
                guard got > 0 else { break }
                length += got
            }
            initialized = length
        }
        return length == count ? bytes : nil
    }

    private static func salts(of bytes: [UInt8], at offset: Int) -> UInt64 {
        bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
    }

    /// The machine's boot, as the kernel names it; 36 bytes.
    private static var currentBoot: [UInt8] {
        let name = Array((contents(of: "/proc/sys/kernel/random/boot_id") ?? []).prefix(36))
        return name + [UInt8](repeating: 0, count: 36 - name.count)
    }

    private static func contents(of path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(descriptor, &block, block.count)
            guard count > 0 else { return bytes }
            bytes += block[..<count]
        }
    }
}

/// The word of a log at an offset; those of its heads have the most significant byte first.
private func word(of bytes: [UInt8], at offset: Int) -> UInt32 {
    bytes.withUnsafeBytes {
        UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}

/// The running checksum of a write-ahead log (https://www.sqlite.org/fileformat2.html#walformat).
private struct LogChecksum {
    let isBigEndian: Bool
    private var sums: (UInt32, UInt32) = (0, 0)

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    /// Goes on over pairs of words: as many bytes as are a multiple of eight.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: 8) {
                let first = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let second = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                sums.0 &+= (isBigEndian ? first.bigEndian : first.littleEndian) &+ sums.1
                sums.1 &+= (isBigEndian ? second.bigEndian : second.littleEndian) &+ sums.0
            }
        }
    }

    /// Whether it is what stands at an offset.
    func isThat(of bytes: [UInt8], at offset: Int) -> Bool {
        sums == (word(of: bytes, at: offset), word(of: bytes, at: offset + 4))
    }
}
