import Diagnostics
import Glibc
import HTTP
import JSON
import Loop
import TLS

/// The certificate that the gateway shows to its clients, as long as it serves.
///
/// Its files are looked at every few seconds, and read again when they have changed or SIGHUP says
/// so. A new pair takes the place of the old one when it is whole, belongs together and is in
/// force; until then the old one stays, and the log tells why, once.
@LoopActor
final class ServedCertificate {
    /// What listeners speak TLS by.
    let tls: ServerTLS
    /// Called with what the certificate says, after another one was taken.
    var onChange: @LoopActor (CertificateFacts) -> Void = { _ in }

    private let files: TLSFiles
    private let threads = FileThreads(count: 1)
    /// The files when what is shown was read.
    private var shown: [FileStamp?]
    /// The files when they were of no use, and whether that was told.
    private var refused: (stamps: [FileStamp?], isTold: Bool)?
    /// When the end was foretold last, in seconds since 1970.
    private var lastReminder: Int64?
    private lazy var timer = LoopTimer { [weak self] in self?.look(isAsked: false) }

    private static let log = Log("tls")
    private static let interval = Duration.seconds(3)
    private static let day: Int64 = 86_400
    /// How long before its end the certificate's end is foretold.
    private static let reminderTime = 14 * day
    /// What is spoken above TLS, the best first.
    private nonisolated static let protocols = ["h2", "http/1.1"]

    /// Reads the files for the first time, and goes on looking at them. Blocks.
    ///
    /// - Throws: `TLSFileError`.
    init(_ files: TLSFiles) throws(TLSFileError) {
        self.files = files
        shown = FileStamp.of(files.paths)
        tls = ServerTLS(try TLSContext(files, protocols: ServedCertificate.protocols))
        if FileStamp.canBeReadByAll(files.key) {
            ServedCertificate.log.write(
                .warning, "everybody on this machine can read the private key: chmod o-rwx",
                ["file": .name(files.key)])
        }
        remind()
        timer.arm(after: ServedCertificate.interval)
    }

    /// What the certificate says.
    var facts: CertificateFacts { tls.context.certificate }

    /// Reads the files now, changed or not, and says what comes of it.
    func readAgain() { look(isAsked: true) }

    private func look(isAsked: Bool) {
        threads.submit { [files, shown, refused] () -> Finding in
            let stamps = FileStamp.of(files.paths)
            if !isAsked, stamps == shown || refused?.isTold == true && refused?.stamps == stamps {
                return Finding(stamps: stamps, context: nil)
            }
            do throws(TLSFileError) {
                let context = try TLSContext(files, protocols: ServedCertificate.protocols)
                return Finding(stamps: stamps, context: .success(context))
            } catch {
                return Finding(stamps: stamps, context: .failure(error))
            }
        } then: { [weak self] result in
            guard let self else { return }
            if case .success(let finding) = result { act(on: finding, isAsked: isAsked) }
            timer.arm(after: ServedCertificate.interval)
        }
    }

    /// What the files were, and what they hold; nil where they need not be read.
    private struct Finding: Sendable {
        let stamps: [FileStamp?]
        let context: Result<TLSContext, TLSFileError>?
    }

    private func act(on finding: Finding, isAsked: Bool) {
        defer { remind() }
        switch finding.context {
        case nil:
            if finding.stamps == shown { refused = nil }
        case .failure(let error):
            refuse(finding.stamps, because: error.description, isAsked: isAsked)
        case .success(let context):
            let now = Int64(time(nil))
            guard context.certificate.isInForce(at: now) || !facts.isInForce(at: now) else {
                let words = "\(files.certificate) is not in force, and that which is shown is."
                return refuse(finding.stamps, because: words, isAsked: isAsked)
            }
            take(context, finding.stamps)
        }
    }

    /// A file may be half written: what is of no use is told when it stays so.
    private func refuse(_ stamps: [FileStamp?], because words: String, isAsked: Bool) {
        let isSame = refused?.stamps == stamps
        guard isAsked || isSame else {
            refused = (stamps, false)
            return
        }
        if isSame, refused?.isTold == true, !isAsked { return }
        refused = (stamps, true)
        ServedCertificate.log.write(
            .error, "the certificate stays as it was", ["error": .words(words)])
    }

    private func take(_ context: TLSContext, _ stamps: [FileStamp?]) {
        let isSame = context.certificate == facts
        // Sessions of the old context are not resumed in another: it is kept if nothing has
        // changed.
        if !isSame || stamps != shown { tls.context = context }
        (shown, refused) = (stamps, nil)
        guard !isSame else {
            return ServedCertificate.log.write(
                .notice, "the certificate was read again, and is the same")
        }
        lastReminder = nil
        ServedCertificate.log.write(
            .notice, "another certificate is shown from now on",
            [
                "names": .name(facts.names.joined(separator: ",")),
                "expires": .name(ServedCertificate.text(of: facts.notAfter)),
            ])
        onChange(facts)
    }

    /// Tells of an end that is near or past, once a day.
    private func remind() {
        let now = Int64(time(nil))
        guard facts.notAfter - now < ServedCertificate.reminderTime || facts.notBefore > now,
            now - (lastReminder ?? .min / 2) >= ServedCertificate.day
        else { return }
        lastReminder = now
        let fields: [(String, Log.Field)] = [
            ("file", .name(files.certificate)),
            ("from", .name(ServedCertificate.text(of: facts.notBefore))),
            ("expires", .name(ServedCertificate.text(of: facts.notAfter))),
        ]
        if facts.ownNotAfter < now {
            ServedCertificate.log.write(
                .error, "the certificate has expired: clients will refuse it", fields)
        } else if facts.notBefore > now {
            ServedCertificate.log.write(
                .error, "the certificate is not in force yet: clients will refuse it", fields)
        } else if facts.notAfter < now {
            ServedCertificate.log.write(
                .warning,
                "one that is shown with the certificate has expired: clients may refuse them",
                fields)
        } else {
            ServedCertificate.log.write(
                .warning, "the certificate will expire soon", fields)
        }
    }

    private static func text(of seconds: Int64) -> String {
        RFC3339.text(milliseconds: seconds * 1000)
    }
}

/// Which version of a file is at a path.
private struct FileStamp: Equatable, Sendable {
    private let device: dev_t
    private let inode: ino_t
    private let size: off_t
    private let modified: [Int]

    /// Nil where no file can be looked at.
    private init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, inode, size) = (status.st_dev, status.st_ino, status.st_size)
        modified = [
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
            status.st_ctim.tv_nsec,
        ]
    }

    static func of(_ paths: [String]) -> [FileStamp?] { paths.map { FileStamp($0) } }

    static func canBeReadByAll(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IROTH != 0
    }
}
