internal import Diagnostics
internal import Loop
internal import Semantics

/// Staged files: what clients send ahead of the tasks that upload it.
extension Gateway {
    /// The bytes of a complete file, for a task that sends it.
    func openStaged(
        _ id: FileID, length: Int64, of tenant: TenantID
    ) async throws(GatewayError) -> ContentFile {
        guard let file = stagedFiles[id], file.tenant == tenant, file.isComplete,
            file.length == length
        else { throw .noSuchFile }
        let folder = parts.folder
        do {
            return try await parts.files.run { try ContentFile(reading: id, in: folder) }
        } catch {
            log.write(.error, "a staged file cannot be opened", ["error": .words("\(error)")])
            throw .noSuchFile
        }
    }
}
