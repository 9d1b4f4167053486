import Engine
import Files
import Foundation
import Glibc
import REST
import SQLiteStore

/// What this process and its machine tell of themselves, by /proc and the file system.
struct ThisMachine: Machine {
    private let folder: String
    private let startTime: Double

    /// - Parameter folder: the data directory.
    init(dataDirectory folder: String) {
        self.folder = folder
        startTime = ThisMachine.startTime
    }

    func figures() -> MachineFigures {
        var figures = MachineFigures()
        figures.disk = disk
        figures.databaseBytes = size(of: DurableStore.fileName)
        figures.logBytes = size(of: DurableStore.fileName + "-wal")
        figures.startTime = startTime
        readStatus(into: &figures)
        readUsage(into: &figures)
        figures.openDescriptors = ThisMachine.openDescriptors
        return figures
    }

    // MARK: The disk

    private var disk: DiskFigures? {
        var system = statvfs()
        guard statvfs(folder, &system) == 0 else { return nil }
        return DiskFigures(
            free: system.bytes(of: system.f_bavail), total: system.bytes(of: system.f_blocks),
            reserve: size(of: DataFolder.reserveName))
    }

    /// Bytes of a file of the data directory; 0 where there is none.
    private func size(of name: String) -> Int64 {
        var status = stat()
        return stat(folder + "/" + name, &status) == 0 ? Int64(status.st_size) : 0
    }

    // MARK: The process

    /// <https://man7.org/linux/man-pages/man5/proc_pid_status.5.html>
    private func readStatus(into figures: inout MachineFigures) {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else {
            return
        }
        for line in text.split(separator: "\n") {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count >= 2, let number = Int64(words[1]) else { continue }
            switch words[0] {
            case "VmRSS:": figures.residentBytes = number * 1024
            case "VmSize:": figures.virtualBytes = number * 1024
            case "Threads:": figures.threads = Int(number)
            default: break
            }
        }
    }

    private func readUsage(into figures: inout MachineFigures) {
        var time = timespec()
        if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 {
            figures.processorTime = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        var files = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 {
            figures.descriptorLimit = Int(clamping: files.rlim_cur)
        }
    }

    /// Without the one by which they are counted.
    private static var openDescriptors: Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            let isNamed = withUnsafeBytes(of: entry.pointee.d_name) { $0[0] != UInt8(ascii: ".") }
            if isNamed { count += 1 }
        }
        return max(0, count - 1)
    }

    /// When the process began, in seconds since 1970: now, without the time that it has lived.
    private static var startTime: Double {
        let now = Date().timeIntervalSince1970
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            // Behind the name, which may have blanks; the start is the 22nd field, in ticks.
            let ticks = stat.split(separator: ")").last?.split(separator: " ").dropFirst(19).first
                .flatMap({ Double($0) })
        else { return now }
        var uptime = timespec()
        clock_gettime(CLOCK_BOOTTIME, &uptime)
        let sinceBoot = Double(uptime.tv_sec) + Double(uptime.tv_nsec) / 1e9
        return now - (sinceBoot - ticks / Double(max(1, sysconf(CInt(_SC_CLK_TCK)))))
    }
}
