@testable import Client

extension TransferBench {
    /// Runs `ferry put`.
    func put(
        _ file: String,
        _ change: @escaping @Sendable (inout UploadOrder) -> Void = { _ in },
        persistence: @escaping @Sendable (inout Persistence) -> Void = { _ in }
    ) async throws -> UploadReceipt {
        let bench = self
        return try await onThread { () throws(ClientError) in
            var order = UploadOrder(file: file, url: "http://host/up")
            change(&order)
            let client = try bench.client(persistence)
            return try Upload(order, client: client, display: bench.log.display).run()
        }
    }
}
