import TestSupport
import Testing

@testable import Client

/// `ferry get --task`.
struct TaskCollectionTests {
    let bench: TransferBench
    let size = 100_000
    var gateway: FakeGateway { bench.gateway }

    init() throws {
        bench = try TransferBench()
    }

    private func collect() async throws -> DownloadReceipt {
        let bench = bench
        return try await onThread { () throws(ClientError) in
            try TaskCollection(
                of: "tsk_1", to: bench.folder.file("a.iso"), replacesFile: true,
                client: bench.client { _ in }, display: bench.log.display
            ).run()
        }
    }

    @Test func `a task of which nothing was kept costs neither the file nor the task`() async throws
    {
        try bench.folder.write("a.iso", [1, 2, 3])
        gateway.task.update {
            $0.state = "completed"
            $0.received = 5
        }
        await #expect {
            try await collect()
        } throws: { error in
            (error as? ClientError)?.exitStatus == .usage && "\(error)".contains("tsk_1")
        }
        #expect(try bench.folder.contents() == ["a.iso"])
        #expect(try bench.folder.read("a.iso") == [1, 2, 3])
        #expect(!gateway.task.isDeleted)
    }

    @Test func `an answer without a body is an empty file`() async throws {
        gateway.task.update {
            $0.state = "completed"
            $0.status = 204
        }
        let receipt = try await collect()
        #expect(receipt.length == 0 && receipt.task == "tsk_1")
        #expect(try bench.folder.read("a.iso") == [])
        #expect(gateway.task.isDeleted)
    }

    @Test func `in place of a data task that became a download there is that one (S-70)`()
        async throws
    {
        gateway.task.update {
            $0.type = "data"
            $0.state = "completed"
            $0.becameTask = "tsk_2"
        }
        gateway.onEvents(FakeGateway.secondPath) { [size, second = gateway.second] exchange in
            try exchange.openStream()
            second.complete(length: size)
            try exchange.complete()
        }
        gateway.onContent(FakeGateway.secondPath, ResumptionTests.content(size))
        let receipt = try await collect()
        #expect(receipt.task == "tsk_2")
        #expect(try bench.folder.contents() == ["a.iso"])
        let bytes = try bench.folder.read("a.iso")
        #expect(bytes.count == size && Pattern.firstDifference(in: bytes) == nil)
        #expect(gateway.task.isDeleted && gateway.second.isDeleted)
    }
}
