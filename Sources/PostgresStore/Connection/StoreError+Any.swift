internal import Engine
internal import Records

extension StoreError {
    /// The error as the port knows it.
    init(any error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as SealError: self.init(error)
        default: self = .failed("\(error)")
        }
    }
}
