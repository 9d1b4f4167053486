import Engine
import Sealing
import TLS

/// Why the gateway does not start, or a command of the operator's does nothing.
struct Refusal: Error, CustomStringConvertible {
    /// A sentence for the operator.
    let description: String
    /// One of <sysexits.h>.
    let code: Int32
}

extension Refusal {
    /// Any error of a start, or of a command that works on a data directory.
    init(_ error: any Error, in dataDirectory: String) {
        switch error {
        case let refusal as Refusal: self = refusal
        case let error as DataKeyError: self.init(error)
        case let error as TLSFileError: self.init(error)
        case let error as UnusablePlace: self.init(description: error.description, code: 69)
        case let error as StoreError: self.init(error, in: dataDirectory)
        default: self.init(description: "\(error)", code: 74)
        }
    }

    /// A key file that cannot be used: EX_IOERR where the system says so, else EX_CONFIG.
    init(_ error: DataKeyError) {
        let code: Int32 =
            switch error {
            case .system, .vanished: 74
            case .tooOpen, .wrongSize, .notAFile: 78
            }
        self.init(description: error.description, code: code)
    }

    /// A certificate or key that cannot be used: EX_NOINPUT where the system does not let it be
    /// read, else EX_CONFIG.
    init(_ error: TLSFileError) {
        self.init(description: error.description, code: error.isOfSystem ? 66 : 78)
    }

    /// A database that cannot be used: EX_DATAERR where it is damaged, else EX_IOERR.
    private init(_ error: StoreError, in dataDirectory: String) {
        switch error {
        case .full:
            self.init(description: "There is no room on the disk of \(dataDirectory).", code: 74)
        case .away(let words):
            self.init(description: "The database cannot be reached: \(words)", code: 69)
        case .failed(let words):
            self.init(
                description: "The database in \(dataDirectory) cannot be used: \(words)", code: 74)
        case .lost:
            self.init(description: "Another gateway has taken the database over.", code: 74)
        case .damaged(let words):
            self.init(
                description: "The database in \(dataDirectory) cannot be read: \(words)", code: 65)
        }
    }
}
