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
        let wal = contents(of: database + "-wal") ?? []
        let (salts, frames) = wholeFrames(of: wal)
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
    private static func wholeFrames(of wal: [UInt8]) -> (salts: UInt64, frames: Int) {
        wal.withUnsafeBytes { wal -> (UInt64, Int) in
            guard wal.count >= 32 else { return (0, 0) }
            func word(_ offset: Int) -> UInt32 {
                UInt32(bigEndian: wal.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            }
            let isBigEndian = word(0) & 1 == 1
            let pageSize = Int(word(8))
            var sums: (UInt32, UInt32) = (0, 0)
            func add(_ range: Range<Int>) {
                for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                    let first = wal.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                    let second = wal.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                    sums.0 &+= (isBigEndian ? first.bigEndian : first.littleEndian) &+ sums.1
                    sums.1 &+= (isBigEndian ? second.bigEndian : second.littleEndian) &+ sums.0
                }
            }
            add(0..<24)
            let salts = wal.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
            guard pageSize >= 512, pageSize <= 65_536, pageSize.isMultiple(of: 8),
                sums == (word(24), word(28))
            else { return (0, 0) }
            var (frames, start) = (0, 32)
            while start + 24 + pageSize <= wal.count {
                guard wal.loadUnaligned(fromByteOffset: start + 8, as: UInt64.self) == salts else {
                    break
                }
                add(start..<start + 8)
                add(start + 24..<start + 24 + pageSize)
                guard sums == (word(start + 16), word(start + 20)) else { break }
                frames += 1
                start += 24 + pageSize
            }
            return (salts, frames)
        }
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
