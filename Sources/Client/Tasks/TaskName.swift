internal import JSON

extension GatewayClient {
    /// The id of a task that a user has named: the whole id, or as many of its characters as no
    /// other task's begins with, with `tsk_` or without.
    ///
    /// - Throws: `badArgument` where none or several begin so; as `tasks`.
    public func taskID(_ name: String) throws(ClientError) -> String {
        let name = name.hasPrefix(GatewayClient.prefix) ? name : GatewayClient.prefix + name
        do throws(ClientError) {
            return try task(name).id
        } catch {
            guard case .refused(let problem) = error, problem.status == 404 else { throw error }
        }
        let found = try tasks(states: "all").compactMap { $0["id"]?.string }.filter {
            $0.hasPrefix(name)
        }
        switch found.count {
        case 1: return found[0]
        case 0: throw .badArgument("there is no task \(name): `ferry tasks --all` lists them")
        default:
            throw .badArgument(
                "\(found.count) tasks begin with \(name): \(found.prefix(5).joined(separator: ", "))"
            )
        }
    }

    private static let prefix = "tsk_"
}
