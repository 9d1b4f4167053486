internal import Diagnostics
internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Reads pages of tasks from one state of the database.
struct TaskPageReader {
    /// How many tasks one search looks at, about 10 ms: the log is not copied into the database
    /// meanwhile.
    static let searchLength = 4096
    /// How many ids a search asks the index for at a time.
    private static let stepLength = 1024

    let database: Database
    let sealer: any Sealer

    /// The page that a query is about, as far as one search comes.
    func page(_ query: TaskQuery) throws -> TaskPage {
        let tasks = try TaskReader(database, sealer: sealer)
        let search = query.filter.isEmpty ? nil : try TaskSearch(query, in: database)
        var page = TaskPage()
        var rest = query
        var looks = 0
        var bulk = 0
        while true {
            rest.limit = search == nil ? query.limit - page.tasks.count : Self.stepLength
            let ids = try TaskIndex(database: database).ids(rest)
            for id in ids {
                guard page.tasks.count < query.limit else { return page }
                do {
                    guard try search?.finds(id) ?? true else { continue }
                    guard let task = try tasks.task(id, of: query.tenant) else { continue }
                    page.tasks.append(task)
                    bulk += task.bulk
                    if bulk >= TaskPage.bulkLimit, page.tasks.count < query.limit {
                        page.searchedThrough = id
                        return page
                    }
                } catch {
                    guard case .damaged(let words) = StoreError(error) else { throw error }
                    Log.damage(of: "task", id.rawValue, words)
                    page.damaged.append(id)
                }
            }
            looks += ids.count
            guard page.tasks.count < query.limit, ids.count == rest.limit, let last = ids.last,
                !query.isOver(at: last)
            else { return page }
            rest.after = last
            if looks >= Self.searchLength {
                page.searchedThrough = last
                return page
            }
        }
    }
}
