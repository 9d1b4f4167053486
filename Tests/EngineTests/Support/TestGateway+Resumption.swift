import Semantics
import TestSupport
import Testing

@testable import Engine

extension TestGateway {
    /// Creates a download that goes on from resume data.
    func resume(
        _ data: String, in session: SessionID, _ change: (inout TaskOptions) -> Void = { _ in }
    ) async throws -> TaskID {
        let (request, checkpoint) = try gateway.tasks.checkpoint(in: data, of: tenant)
        var options = TaskOptions()
        change(&options)
        return try await create(
            TaskSpec(
                type: .download, request: request, options: options, resume: true,
                checkpoint: checkpoint), in: session)
    }
}

extension TaskRecord {
    /// What the task's error has for another one to go on from.
    var resumeData: String? {
        guard case .string(let data)? = self.error?.userInfo[TransferError.resumeDataKey] else {
            return nil
        }
        return data
    }
}
