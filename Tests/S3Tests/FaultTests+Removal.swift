import Files
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine
@testable import S3ContentStore

/// What is removed, and what is listed for it.
extension FaultTests {
    /// A content that was removed, with its reader.
    @LoopActor
    private static func doomed(in bench: Bench) async throws -> any OpenContent {
        try await bench.put(50_000)
        let content = try await bench.contents.openKnown(Self.content)
        try await bench.contents.remove([Self.content])
        return content
    }

    @Test @LoopActor
    func `what is put anew waits for the removal of what had its name (R-1)`() async throws {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        var content: (any OpenContent)? = try await Self.doomed(in: bench)
        _ = content
        let gate = Gate()
        s3.spoil { operation, _ in operation == "DeleteObject" ? .held(gate) : nil }
        content = nil
        try await eventually("the removal") { s3.count("DeleteObject") == 1 }
        #expect(try await bench.contents.open(Self.content) == nil, "it is on its way out")
        let put = LoopActor.start { try await bench.put(50_000) }
        // As long as a put would take.
        for _ in 0..<30 { _ = try await bench.contents.length(of: Self.content) }
        #expect(s3.count("PutObject") == 2, "the mark, and the first one")
        gate.open()
        try await put.value
        try await bench.verify(50_000)
    }

    @Test @LoopActor
    func `a reader that goes while its content is put anew takes nothing along (R-1)`()
        async throws
    {
        let s3 = try ScriptedS3()
        let bench = try await Bench(s3)
        var content: (any OpenContent)? = try await Self.doomed(in: bench)
        _ = content
        let gate = Gate()
        s3.spoil { operation, _ in operation == "PutObject" ? .held(gate) : nil }
        let put = LoopActor.start { try await bench.put(50_000) }
        try await eventually("the put") { s3.count("PutObject") == 3 }
        content = nil
        for _ in 0..<30 { _ = try await bench.contents.length(of: Self.content) }
        gate.open()
        try await put.value
        #expect(s3.count("DeleteObject") == 0)
        try await bench.verify(50_000)
    }

    @Test @LoopActor
    func `a whole that becomes a part goes when it is one`() async throws {
        let bench = try await Bench(ScriptedS3())
        try await bench.put(50_000)
        guard case .task(let task) = Self.task else { return }
        let validators = EntityValidators(tag: EntityTag("\"1\""), date: nil)
        let entity = try #require(RangedEntity(validators: validators, total: nil))
        let point = try #require(ResumePoint(entity: entity, received: [0..<50_000]))
        let found = try await bench.store.takePart(
            of: DownloadCheckpoint(point: point, part: task), in: TenantID(rawValue: 7), as: task
        ) { _ in true }
        #expect(found?.point == point)
        #expect(try bench.hasPart())
        try await eventually("the whole to go") { bench.s3.keys.isEmpty }
    }

    @Test @LoopActor
    func `of many objects those are removed again with which S3 asks to wait`() async throws {
        let bench = try await Bench(ScriptedS3())
        let names = (1...3).map { ContentName.file(FileID(rawValue: $0)) }
        try await bench.put(50_000)
        for name in names { try await bench.contents.copy(Self.content, to: name) }
        try await bench.contents.remove([Self.content])
        let keys = names.map { "p/" + $0.path }
        func error(_ key: String, _ code: String) -> String {
            "<Error><Key>\(key)</Key><Code>\(code)</Code></Error>"
        }
        // It does nothing, and says that of the first two; the third one would be gone.
        let errors = error(keys[0], "InternalError") + error(keys[1], "NoSuchKey")
        bench.s3.spoil(
            Self.first(1, "DeleteObjects", .onlyBody("<DeleteResult>\(errors)</DeleteResult>")))
        try await bench.contents.remove(names)
        #expect(bench.s3.count("DeleteObjects") == 2)
        #expect(bench.s3.keys == keys[1...].sorted())

        let refused = error(keys[1], "AccessDenied: <b>no</b>".replacing("<", with: "&lt;"))
        bench.s3.spoil(
            Self.first(1, "DeleteObjects", .onlyBody("<DeleteResult>\(refused)</DeleteResult>")))
        let failure = try await #require(throws: FileError.self) {
            try await bench.contents.remove(names)
        }
        #expect(failure == FileError("DeleteObjects 200 AccessDeniedbnob", code: EREMOTEIO))
    }

    @Test(arguments: [
        ("ListObjectsV2", "ListBucketResult"),
        ("ListMultipartUploads", "ListMultipartUploadsResult"),
    ]) @LoopActor
    func `a list that is cut without a way to go on is no list`(
        operation: String, name: String
    ) async throws {
        let bench = try await Bench(ScriptedS3())
        bench.s3.spoil { asked, _ in
            asked == operation
                ? .onlyBody("<\(name)><IsTruncated>true</IsTruncated></\(name)>") : nil
        }
        let error = try await #require(throws: FileError.self) { try await bench.contents.list() }
        #expect(error == FileError(operation, code: EREMOTEIO))
    }
}

extension WholeContents {
    fileprivate func openKnown(_ name: ContentName) async throws -> any OpenContent {
        try #require(try await open(name))
    }
}
