import Glibc
import Loop
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine
@testable import S3ContentStore

/// How uploads and copies end of which S3 does not say how.
extension FaultTests {
    @Test(arguments: [
        "", "done", "<Other/>",
        " \n<?xml version=\"1.0\"?><CompleteMultipartUploadResult></CompleteMultipartUploadResult>",
    ]) @LoopActor
    func `an upload is complete where its object is there, whatever S3 says of it`(
        body: String
    ) async throws {
        let bench = try await Bench(ScriptedS3())
        bench.s3.spoil(Self.first(1, "CompleteMultipartUpload", .otherBody(body)))
        try await bench.put(350_000)
        #expect(bench.s3.count("CreateMultipartUpload") == 1)
        try await bench.verify(350_000)
    }

    @Test @LoopActor
    func `an error with space in front of it is one`() async throws {
        let bench = try await Bench(ScriptedS3())
        let error = "  <?xml version=\"1.0\"?><Error><Code>InternalError</Code></Error>"
        bench.s3.spoil(Self.first(1, "CompleteMultipartUpload", .onlyBody(error)))
        try await bench.put(350_000)
        #expect(bench.s3.count("CompleteMultipartUpload") == 2)
        #expect(bench.s3.count("CreateMultipartUpload") == 1)
        try await bench.verify(350_000)
    }

    @Test(arguments: [
        ("HeadObject", ScriptedS3.Fault.length(5)), ("CompleteMultipartUpload", .onlyBody("")),
    ]) @LoopActor
    func `an upload whose object is another one is an error, and is not sent for ever`(
        operation: String, fault: ScriptedS3.Fault
    ) async throws {
        let bench = try await Bench(ScriptedS3())
        let spool = try await bench.spool(350_000)
        bench.s3.spoil(Self.first(1, operation, fault))
        let error = try await #require(throws: FileError.self) { try await spool.finish() }
        #expect(error == FileError("CompleteMultipartUpload", code: EREMOTEIO))
        #expect(bench.s3.count("CreateMultipartUpload") == 1)
        #expect(try bench.hasPart())
    }

    @Test @LoopActor
    func `an upload that somebody has forgotten begins anew`() async throws {
        let bench = try await Bench(ScriptedS3())
        let gone = ScriptedS3.Fault.answer(404, "NoSuchUpload")
        bench.s3.spoil(Self.first(1, "CompleteMultipartUpload", gone))
        try await bench.put(350_000)
        #expect(bench.s3.count("CreateMultipartUpload") == 2)
        try await bench.verify(350_000)
    }
}
