internal import Engine
internal import Semantics

/// Completed tasks that were polled lately, in JSON: 2 to 4 MiB of it.
///
/// What has completed changes in its description and metadata only, and is forgotten at times: then
/// all of this is.
struct RenderedTasks {
    private struct Entry {
        let tenant: TenantID
        let bytes: [UInt8]
    }

    private static let byteLimit = 2 << 20

    private var entries = RenderedTasks.none
    private var forgetting = 0

    private static var none: RecentCache<TaskID, Entry> {
        RecentCache(limit: byteLimit) { $0.bytes.count }
    }

    /// The task as it was rendered, if it is the tenant's and nothing has been forgotten since:
    /// `forgetting` is the gateway's count at this moment.
    mutating func bytes(of id: TaskID, for tenant: TenantID, _ forgetting: Int) -> [UInt8]? {
        guard forgetting == self.forgetting else {
            self.forgetting = forgetting
            entries = RenderedTasks.none
            return nil
        }
        guard let entry = entries[id], entry.tenant == tenant else { return nil }
        return entry.bytes
    }

    /// Remembers a completed task.
    mutating func keep(_ bytes: [UInt8], of record: TaskRecord) {
        entries[record.id] = Entry(tenant: record.tenant, bytes: bytes)
    }

    /// The task has changed.
    mutating func drop(_ id: TaskID) {
        entries[id] = nil
    }
}
