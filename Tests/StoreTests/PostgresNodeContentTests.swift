import Engine
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// Which contents are of use to a node's database: what housekeeping asks.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresNodeContentTests {
    private let bench = PostgresNodeBench()

    @Test func `a part is of use until another node has got those of its tenant`() async throws {
        try await TemporarySchema.with { url in
            let nodes = try [bench.node(url), bench.node(url, folder: 2)]
            var world = World()
            let session = world.makeSession(of: World.alice)
            let task = world.makeTask(in: session)
            var made = world.batch(session)
            made.createdTasks = [task]
            try await nodes[0].commit(made)
            #expect(try await nodes[0].take(World.alice) == nodes[0].node)
            #expect(try await nodes[0].needs(.part, of: .task(task.id)))
            _ = try await nodes[0].settle([World.alice])
            #expect(try await nodes[0].needs(.part, of: .task(task.id)))
            #expect(try await !nodes[1].needs(.part, of: .task(task.id)))
            #expect(try await nodes[1].needs(.whole, of: .task(task.id)))
            #expect(try await !nodes[0].needs(.part, of: .task(TaskID(rawValue: 1))))
            for node in nodes { await node.close() }
        }
    }

    @Test func `of what was put in a series that is of use which its record tells of`() async throws
    {
        try await TemporarySchema.with { url in
            let node = try bench.node(url)
            var world = World()
            let session = world.makeSession(of: World.alice)
            var task = world.makeTask(in: session)
            var file = world.makeFile(of: World.alice)
            var batch = world.batch(session)
            (batch.createdTasks, batch.files) = ([task], [file])
            try await node.commit(batch)
            #expect(try await node.take(World.alice) == node.node)
            let contents = [8, 9].map { ContentName.task(task.id, in: $0) }
            let staged = [8, 9].map { ContentName.file(file.id, in: $0) }
            func needed() async throws -> [Bool] {
                var needed: [Bool] = []
                for content in contents + staged {
                    needed.append(try await node.needs(.whole, of: content))
                }
                return needed
            }
            func neededParts() async throws -> [Bool] {
                [
                    try await node.needs(.part, of: .task(task.id)),
                    try await node.needs(.part, of: .file(file.id)),
                ]
            }
            #expect(
                try await needed() == [true, true, true, true], "any of them may yet be told of")
            #expect(try await neededParts() == [true, true])
            task = task.completed(at: world.instant)
            task.content = ContentRecord(
                length: 10, place: .file, digest: nil, lengthVerified: true, series: 9)
            (file.isComplete, file.series) = (true, 8)
            batch = world.batch(session)
            (batch.changedTasks, batch.files) = ([task], [file])
            try await node.commit(batch)
            #expect(try await needed() == [false, true, true, false])
            #expect(try await neededParts() == [false, false], "the wholes are there")
            // One that was kept for another download, which no record tells of.
            #expect(try await !node.needs(.whole, of: .task(task.id)))
            #expect(try await node.load([World.alice]).contents.files.map(\.series) == [8])
            // A damaged row may tell of any of them.
            let connection = try Connection(DatabaseAddress(url))
            try connection.send("BEGIN")
            try connection.send("UPDATE task SET status = '\\x0aff01'")
            try connection.commit()
            #expect(try await needed() == [true, true, true, false])
            await node.close()
        }
    }
}
